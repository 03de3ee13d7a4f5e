// Archives for the tests of the .pt2 reader: real ones, changed.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "braid/io/pt2/reader.h"
#include "io/scratch.h"
#include "io/zip_builder.h"
#include "source_dir.h"

namespace braid::io::pt2 {

inline const std::filesystem::path kFixtures =
    std::filesystem::path(kSourceDir) / "tests/io/fixtures";

// Every fixture whose name begins so: one per version of torch.
inline std::vector<std::filesystem::path> fixtures(std::string_view prefix) {
  std::vector<std::filesystem::path> paths;
  for (auto& entry : std::filesystem::directory_iterator(kFixtures)) {
    std::string name = entry.path().filename().string();
    bool is_archive = entry.path().extension() == ".pt2";
    if (is_archive && name.starts_with(prefix)) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// A fixture taken apart. Paths are without the outermost folder.
class TestArchive {
 public:
  using Json = nlohmann::json;

  explicit TestArchive(const std::filesystem::path& path)
      : parts_(take_apart(MappedFile(path).bytes())),
        root_(parts_[0].name.substr(0, parts_[0].name.find('/') + 1)) {}

  ZipPart& part(const std::string& path) {
    for (ZipPart& part : parts_) {
      if (part.name == root_ + path) return part;
    }
    throw std::runtime_error("the fixture has no part " + path);
  }

  // Replaces a part, or adds it.
  void set(const std::string& path, std::string content) {
    for (ZipPart& part : parts_) {
      if (part.name == root_ + path) {
        part.content = std::move(content);
        return;
      }
    }
    parts_.push_back({.name = root_ + path, .content = std::move(content)});
  }

  void remove(const std::string& path) {
    std::erase_if(parts_,
                  [&](const ZipPart& p) { return p.name == root_ + path; });
  }

  void change_json(const std::string& path,
                   const std::function<void(Json&)>& change) {
    Json json = Json::parse(part(path).content);
    change(json);
    part(path).content = json.dump();
  }

  std::vector<ZipPart>& parts() { return parts_; }
  const std::string& root() const { return root_; }
  std::string file() const { return build_zip(parts_, {.is_wide = true}); }

 private:
  std::vector<ZipPart> parts_;
  std::string root_;  // "tied_213/"
};

inline ExportedProgram read_text_as_exported(const std::string& file) {
  return read_exported(bytes_of(file), "net.pt2");
}

// The text with which a file is refused; other errors and none are failures.
inline std::string refusal(const std::string& file) {
  return error_of<std::runtime_error>([&] { read_text_as_exported(file); });
}

}  // namespace braid::io::pt2
