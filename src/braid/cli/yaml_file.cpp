#include "braid/cli/yaml_file.h"

#include "braid/base/error.h"
#include "braid/config/yaml_reader.h"
#include "braid/io/file/file.h"

namespace braid::cli {

using config::Node;

YamlFile::YamlFile(std::string what, std::filesystem::path path)
    : what_(std::move(what)), path_(std::move(path)) {
  io::MappedFile file(path_);
  config::Report report(what_, path_.string());
  root_ = config::parse_yaml(
      {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()},
      report);
  report.throw_if_any();
}

std::string YamlFile::place(const Node& node) const {
  std::string line = node.place.text();
  return line.empty() ? path_.string() : path_.string() + " " + line;
}

void YamlFile::fail(const Node& node, const std::string& problem,
                    const std::string& hint) const {
  fail_usage("[{}] {}: {}{}{}", what_, place(node), problem,
             hint.empty() ? "" : "\nHINT: ", hint);
}

std::string YamlFile::text(const Node& node, const std::string& name) const {
  if (!node.is_value()) fail(node, fmt::format("'{}' is no value", name));
  return node.text;
}

const std::vector<Node>& YamlFile::items(const Node& map,
                                         const std::string& name) const {
  if (!map.is_map()) fail(map, fmt::format("{} must be a map", name));
  return map.items;
}

}  // namespace braid::cli
