#include "braid/data/cloud_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/io/file/file.h"

namespace braid::data {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

std::vector<fs::path> sorted_paths(const fs::path& folder,
                                   const std::string& who) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (!at->path().filename().string().starts_with('.')) {
      paths.push_back(at->path());
    }
  }
  if (error) io::fail_file(who, "cannot list", folder, error.value());
  std::ranges::sort(paths);
  return paths;
}

fs::path points_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::path inner = folder / "points";
  return fs::is_directory(inner, ignored) ? inner : folder;
}

std::vector<fs::path> clouds_in(const fs::path& folder,
                                const std::string& who) {
  std::vector<fs::path> paths = sorted_paths(points_folder(folder), who);
  std::erase_if(
      paths, [](const fs::path& path) { return path.extension() != ".pts"; });
  return paths;
}

// The last two steps of a path, without ending: "02691156/1a04e3".
std::string short_name(const std::string& text) {
  fs::path path(text);
  return (path.parent_path().filename() / path.stem()).string();
}

// Names in a list: a JSON array of texts, or one per line.
std::set<std::string> read_list(const fs::path& path, const std::string& who) {
  io::MappedFile file(path);
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                        file.bytes().size());
  Names names;
  if (text.starts_with('[')) {
    auto json = nlohmann::json::parse(text, nullptr, false);
    bool is_list = json.is_array() && std::ranges::all_of(json, [](auto& item) {
                     return item.is_string();
                   });
    if (!is_list) {
      fail_world("[{}] expected a list of names, got other JSON ({})", who,
                 path.string());
    }
    names = json.get<Names>();
  } else {
    for (; !text.empty();) {
      size_t end = std::min(text.find('\n'), text.size());
      std::string line(text.substr(0, end));
      while (line.ends_with('\r') || line.ends_with(' ')) line.pop_back();
      if (!line.empty()) names.push_back(line);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  file.check();
  std::set<std::string> wanted;
  for (const std::string& name : names) wanted.insert(short_name(name));
  return wanted;
}

// Folders that hold clouds, and the clouds in them that are wanted.
class Lister {
 public:
  explicit Lister(const Options& options) : who_(options.who()) {}

  CloudList run(const Options& options) {
    fs::path folder = options.path("folder");
    for (const fs::path& path : class_folders(options, folder)) {
      add_class(path);
    }
    if (options.has("list")) {
      keep_listed(read_list(options.path("list"), who_),
                  options.path("list").string());
    }
    int64_t limit = options.whole("limit");
    if (limit > 0 && limit < static_cast<int64_t>(made_.files.size())) {
      made_.files.resize(static_cast<size_t>(limit));
    }
    return std::move(made_);
  }

 private:
  std::vector<fs::path> class_folders(const Options& options,
                                      const fs::path& folder) const {
    std::error_code ignored;
    std::vector<fs::path> paths = sorted_paths(folder, who_);
    std::erase_if(paths, [&](const fs::path& path) {
      return !fs::is_directory(path, ignored);
    });
    if (options.has("classes")) {
      return named_folders(options.names("classes"), paths, folder);
    }
    std::erase_if(paths, [&](const fs::path& path) {
      return clouds_in(path, who_).empty();
    });
    if (!paths.empty()) return paths;
    fail_world(
        "[{}] expected a folder with files *.pts for every class, got none "
        "({})",
        who_, folder.string());
  }

  std::vector<fs::path> named_folders(const Names& wanted,
                                      const std::vector<fs::path>& paths,
                                      const fs::path& folder) const {
    Names known;
    for (const fs::path& path : paths) known.push_back(path.filename());
    std::vector<fs::path> chosen;
    for (const std::string& name : wanted) {
      auto found = std::ranges::find(known, name);
      if (found == known.end()) {
        fail_world("[{}] expected a folder '{}' in {}, got none{}", who_, name,
                   folder.string(),
                   known.empty() ? ""
                                 : fmt::format("\nHINT: did you mean '{}'?",
                                               nearest_name(name, known)));
      }
      chosen.push_back(paths[static_cast<size_t>(found - known.begin())]);
    }
    return chosen;
  }

  void add_class(const fs::path& folder) {
    std::string name = folder.filename().string();
    std::vector<fs::path> paths = clouds_in(folder, who_);
    if (paths.empty()) {
      fail_world("[{}] expected files *.pts, got none ({})", who_,
                 folder.string());
    }
    for (const fs::path& path : paths) {
      made_.files.push_back({path, name + "/" + path.stem().string(),
                             static_cast<int64_t>(made_.classes.size())});
    }
    made_.classes.push_back(name);
  }

  void keep_listed(const std::set<std::string>& wanted,
                   const std::string& list) {
    std::erase_if(made_.files, [&](const CloudFile& file) {
      return !wanted.contains(file.name);
    });
    if (!made_.files.empty()) return;
    fail_world(
        "[{}] expected clouds of the folder, got none of them ({})\n"
        "HINT: names end in CLASS/NAME, with or without .pts",
        who_, list);
  }

  std::string who_;
  CloudList made_;
};

}  // namespace

CloudList list_clouds(const Options& options) {
  return Lister(options).run(options);
}

}  // namespace braid::data
