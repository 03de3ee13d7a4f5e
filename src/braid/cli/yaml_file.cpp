#include "braid/cli/yaml_file.h"

#include <set>

#include "braid/base/error.h"
#include "braid/io/file.h"

namespace braid::cli {
namespace {

// Far more than anyone writes; what is larger would take long to look through.
constexpr size_t kMostBytes = size_t{1} << 20;
constexpr size_t kMostKeys = 4096;  // of one map

std::string read_text(const std::string& what,
                      const std::filesystem::path& path) {
  io::MappedFile file(path);
  if (file.bytes().size() > kMostBytes) {
    fail_usage("[{}] {}: expected at most {} bytes, got {}", what,
               path.string(), kMostBytes, file.bytes().size());
  }
  return {reinterpret_cast<const char*>(file.bytes().data()),
          file.bytes().size()};
}

std::string place_text(const std::filesystem::path& path,
                       const YAML::Mark& mark) {
  if (mark.is_null()) return path.string();
  return fmt::format("{} line {}", path.string(), mark.line + 1);
}

}  // namespace

YamlFile::YamlFile(std::string what, std::filesystem::path path)
    : what_(std::move(what)), path_(std::move(path)) {
  try {
    root_ = YAML::Load(read_text(what_, path_));
  } catch (const YAML::Exception& error) {
    fail_usage("[{}] {}: not valid YAML: {}", what_,
               place_text(path_, error.mark), error.msg);
  }
}

std::string YamlFile::place(const YAML::Node& node) const {
  return place_text(path_, node.Mark());
}

void YamlFile::fail(const YAML::Node& node, const std::string& problem,
                    const std::string& hint) const {
  fail_usage("[{}] {}: {}{}{}", what_, place(node), problem,
             hint.empty() ? "" : "\nHINT: ", hint);
}

std::string YamlFile::text(const YAML::Node& node,
                           const std::string& name) const {
  if (!node.IsScalar()) fail(node, fmt::format("'{}' is no value", name));
  return node.Scalar();
}

std::vector<std::string> YamlFile::keys(const YAML::Node& map,
                                        const std::string& name) const {
  if (!map.IsMap()) fail(map, fmt::format("{} must be a map", name));
  if (map.size() > kMostKeys) {
    fail(map, fmt::format("{} has {} keys, at most {} are read", name,
                          map.size(), kMostKeys));
  }
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const auto& item : map) {
    keys.push_back(text(item.first, "a key"));
    if (!seen.insert(keys.back()).second) {
      fail(item.first, fmt::format("'{}' stands twice", keys.back()));
    }
  }
  return keys;
}

}  // namespace braid::cli
