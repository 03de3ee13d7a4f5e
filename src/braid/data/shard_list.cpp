#include "braid/data/shard_list.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <system_error>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/data/file_cursor.h"
#include "braid/data/npy_header.h"
#include "braid/io/format/safetensors.h"

namespace braid::data {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;
using NamedPaths = std::map<std::string, Paths>;  // by field

constexpr const char* kTensors = ".safetensors";
constexpr const char* kArray = ".npy";

// A tensor of a file as its header has it.
struct Found {
  StoredField field;
  int64_t rows = 0;
  ShardPlace place;
};

// Files of a folder that fit, sorted by name. As in a shell, `*` leaves hidden
// files out.
Paths matching(const fs::path& folder, const std::string& pattern,
               const std::string& who) {
  std::error_code error;
  Paths paths;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::string name = at->path().filename().string();
    bool fits = ::fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) == 0;
    if (fits && !at->is_directory(error)) paths.push_back(at->path());
  }
  if (error) io::fail_file(who, "cannot list", folder, error.value());
  std::ranges::sort(paths);
  return paths;
}

Found found(const std::string& who, const std::string& name, Element element,
            const Shape& shape, const ShardPlace& place, const fs::path& path) {
  if (shape.empty()) {
    fail_world("[{}] expected rows, got a single number ({} of {})", who, name,
               path.string());
  }
  Shape sample(shape.begin() + 1, shape.end());
  if (num_elements(sample) == 0) {
    fail_world("[{}] expected samples that hold something, got {} ({} of {})",
               who, shape_text(shape), name, path.string());
  }
  return {{name, element, sample}, shape[0], place};
}

std::vector<Found> read_tensors(const std::string& who, ShardFiles& files,
                                const fs::path& path) {
  size_t number = files.add(path);
  auto file = io::SafetensorsFile::open(path);
  std::vector<Found> all;
  size_t offset = files.bytes(number);  // the data end with the file
  for (const io::TensorBytes& tensor : file.tensors()) {
    offset -= tensor.bytes.size();
  }
  for (const io::TensorBytes& tensor : file.tensors()) {
    std::optional<Element> element = element_of(tensor.dtype);
    if (!element) {
      fail_world("[{}] expected real numbers, got {} ({} of {})", who,
                 dtype_name(tensor.dtype), tensor.name, path.string());
    }
    all.push_back(found(who, tensor.name, *element, tensor.shape,
                        {number, offset}, path));
    offset += tensor.bytes.size();
  }
  return all;
}

Found read_array(const std::string& who, ShardFiles& files,
                 const std::string& field, const fs::path& path) {
  size_t number = files.add(path);
  io::MappedFile file(path);
  FileCursor cursor(file.bytes(), who, path.string());
  NpyHeader header = read_npy_header(cursor);
  auto is_long = [](int64_t size) { return size > 1; };
  if (header.fortran_order &&
      std::ranges::count_if(header.shape, is_long) > 1) {
    cursor.fail(0, "rows one after the other", "fortran_order: True",
                "save numpy.ascontiguousarray(array)");
  }
  npy_bytes(cursor, header);
  return found(who, field, header.element, header.shape,
               {number, cursor.offset()}, path);
}

// Builds the list shard by shard; the first says what the others must be.
class Builder {
 public:
  explicit Builder(const Options& options) : options_(options) {
    list_.files = std::make_unique<ShardFiles>();
  }

  ShardFiles& files() { return *list_.files; }

  void add(const std::vector<Found>& all) {
    std::vector<const Found*> chosen = choose(all);
    if (list_.fields.empty()) {
      for (const Found* one : chosen) list_.fields.push_back(one->field);
      first_ = path_of(*chosen[0]);
    }
    Shard shard{chosen[0]->rows, {}};
    for (size_t f = 0; f < chosen.size(); ++f) {
      check_field(*chosen[f], list_.fields[f]);
      check_rows(*chosen[f], *chosen[0]);
      shard.places.push_back(chosen[f]->place);
    }
    // Writers leave empty ones behind.
    if (shard.rows > 0) list_.shards.push_back(std::move(shard));
  }

  ShardList take() {
    if (list_.shards.empty()) {
      fail_world("[{}] expected at least one sample, got none ({})", who(),
                 first_);
    }
    return std::move(list_);
  }

 private:
  const std::string& who() const { return options_.who(); }
  std::string path_of(const Found& one) const {
    return list_.files->path(one.place.file).string();
  }

  std::vector<std::string> wanted(const std::vector<Found>& all) const {
    std::vector<std::string> names;
    if (options_.has("tensors")) return options_.names("tensors");
    for (const StoredField& field : list_.fields) names.push_back(field.name);
    if (!names.empty()) return names;
    for (const Found& one : all) names.push_back(one.field.name);
    return names;
  }

  // The tensors that are fields, in the order of the fields.
  std::vector<const Found*> choose(const std::vector<Found>& all) const {
    const std::string last =
        list_.files->path(list_.files->size() - 1).string();
    std::vector<std::string> names = wanted(all), known;
    for (const Found& one : all) known.push_back(one.field.name);
    if (names.empty()) {
      fail_world("[{}] expected tensors, got none ({})", who(), last);
    }
    std::vector<const Found*> chosen;
    for (const std::string& name : names) {
      auto at = std::ranges::find(known, name);
      if (at == known.end()) fail_missing(name, known, last);
      chosen.push_back(&all[static_cast<size_t>(at - known.begin())]);
    }
    bool has_more = !options_.has("tensors") && all.size() > names.size();
    if (has_more) fail_more(names, known, last);
    return chosen;
  }

  [[noreturn]] void fail_missing(const std::string& name,
                                 const std::vector<std::string>& known,
                                 const std::string& path) const {
    std::string as = list_.fields.empty() || options_.has("tensors")
                         ? ""
                         : fmt::format(" as {} has", first_);
    std::string nearest = nearest_name(name, known);
    fail_world(
        "[{}] expected a tensor '{}'{}, got none ({}){}", who(), name, as, path,
        nearest.empty() ? "" : "\nHINT: did you mean '" + nearest + "'?");
  }

  [[noreturn]] void fail_more(const std::vector<std::string>& names,
                              const std::vector<std::string>& known,
                              const std::string& path) const {
    auto is_new = [&](const std::string& name) {
      return std::ranges::find(names, name) == names.end();
    };
    fail_world(
        "[{}] got a tensor '{}', which {} does not have ({})\n"
        "HINT: 'tensors' names those to read",
        who(), *std::ranges::find_if(known, is_new), first_, path);
  }

  void check_field(const Found& one, const StoredField& field) const {
    if (one.field.element == field.element && one.field.shape == field.shape) {
      return;
    }
    fail_world("[{}] shards differ: expected {} as {} has, got {} ({})", who(),
               stored_text(field), first_, stored_text(one.field),
               path_of(one));
  }

  void check_rows(const Found& one, const Found& first) const {
    if (one.rows == first.rows) return;
    fail_world("[{}] expected {} rows as '{}' has, got {} ({} of {})", who(),
               first.rows, first.field.name, one.rows, one.field.name,
               path_of(one));
  }

  const Options& options_;
  ShardList list_;
  std::string first_;  // file that the fields are known from
};

ShardList list_tensor_files(const Options& options, const Paths& paths) {
  Builder builder(options);
  for (const fs::path& path : paths) {
    builder.add(read_tensors(options.who(), builder.files(), path));
  }
  return builder.take();
}

// The last digits of a name without leading zeros: "x-0012" -> "12".
std::string number_in(const fs::path& path) {
  std::string stem = path.stem().string();
  size_t end = stem.find_last_of("0123456789");
  if (end == stem.npos) return "";
  size_t before = stem.find_last_not_of("0123456789", end);
  size_t begin = before == stem.npos ? 0 : before + 1;
  while (begin < end && stem[begin] == '0') ++begin;
  return stem.substr(begin, end - begin + 1);
}

// Files with the same place in their lists belong together: one that is missing
// must not bring rows of others together.
void check_partners(const std::string& who, const NamedPaths& fields) {
  const auto& [first, paths] = *fields.begin();
  for (const auto& [field, others] : fields) {
    for (size_t i = 0; i < std::min(paths.size(), others.size()); ++i) {
      if (number_in(paths[i]) == number_in(others[i])) continue;
      fail_world("[{}] expected files of equal numbers, got {} and {}", who,
                 paths[i].string(), others[i].string());
    }
    if (others.size() == paths.size()) continue;
    fail_world("[{}] expected {} files as '{}' has, got {} ('{}', beside {})",
               who, paths.size(), first, others.size(), field,
               paths[0].string());
  }
}

ShardList list_arrays(const Options& options, const NamedPaths& fields) {
  check_partners(options.who(), fields);
  Builder builder(options);
  for (size_t i = 0; i < fields.begin()->second.size(); ++i) {
    std::vector<Found> all;
    for (const auto& [field, paths] : fields) {
      all.push_back(
          read_array(options.who(), builder.files(), field, paths[i]));
    }
    builder.add(all);
  }
  return builder.take();
}

// "images-00012.npy" -> "images"
std::string field_in(const fs::path& path, const std::string& who) {
  std::string stem = path.stem().string();
  size_t end = stem.find_last_not_of("0123456789");
  if (end != stem.npos && end + 1 < stem.size()) {
    end = stem.find_last_not_of("-_.", end);
  }
  if (end != stem.npos) return stem.substr(0, end + 1);
  fail_world(
      "[{}] expected the name of a field and a number, got '{}' ({})\n"
      "HINT: call files x-0000.npy, y-0000.npy and so on, or say which are "
      "which: 'files: [x=images/*.npy, y=labels/*.npy]'",
      who, stem, path.string());
}

ShardList list_folder(const Options& options) {
  fs::path folder = options.path("folder");
  const std::string& who = options.who();
  std::string pattern = options.has("pattern") ? options.text("pattern")
                                               : std::string("*") + kTensors;
  Paths paths = matching(folder, pattern, who);
  if (paths.empty() && !options.has("pattern")) {
    paths = matching(folder, pattern = std::string("*") + kArray, who);
  }
  if (paths.empty()) {
    fail_world("[{}] expected files {}, got none ({})", who,
               options.has("pattern") ? pattern : "*.safetensors or *.npy",
               folder.string());
  }
  for (const fs::path& path : paths) {
    std::string kind = path.extension();
    if ((kind == kTensors || kind == kArray) && kind == paths[0].extension()) {
      continue;
    }
    fail_world("[{}] expected all files {}, got {} ({})", who,
               paths[0].extension() == kArray ? kArray : kTensors,
               path.filename().string(), folder.string());
  }
  if (paths[0].extension() == kTensors) {
    return list_tensor_files(options, paths);
  }
  NamedPaths fields;
  for (const fs::path& path : paths) {
    fields[field_in(path, who)].push_back(path);
  }
  return list_arrays(options, fields);
}

ShardList list_patterns(const Options& options) {
  NamedPaths fields;
  for (const auto& [field, path] : options.files("files")) {
    if (fields.contains(field)) {
      fail_usage("[{}] expected each field once in 'files', got '{}' twice",
                 options.who(), field);
    }
    fields[field] =
        matching(path.parent_path(), path.filename(), options.who());
    if (!fields[field].empty()) continue;
    fail_world("[{}] expected files {}, got none", options.who(),
               path.string());
  }
  return list_arrays(options, fields);
}

}  // namespace

ShardList list_shards(const Options& options) {
  if (options.has("folder") == options.has("files")) {
    fail_usage("[{}] expected either 'folder' or 'files', got {}",
               options.who(), options.has("folder") ? "both" : "neither");
  }
  if (options.has("files") && options.has("pattern")) {
    fail_usage("[{}] 'pattern' goes with 'folder', and there are 'files'",
               options.who());
  }
  return options.has("files") ? list_patterns(options) : list_folder(options);
}

}  // namespace braid::data
