// YAML files with errors that name the file and the line.
#pragma once

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <string>
#include <vector>

namespace braid::cli {

class YamlFile {
 public:
  // `what` begins messages: "members" gives "[members] runs.yaml line 3: ...".
  YamlFile(std::string what, std::filesystem::path path);

  const YAML::Node& root() const { return root_; }
  const std::filesystem::path& path() const { return path_; }

  // "runs.yaml line 3"
  std::string place(const YAML::Node& node) const;

  // Throws std::invalid_argument about a node, with a hint when there is one.
  [[noreturn]] void fail(const YAML::Node& node, const std::string& problem,
                         const std::string& hint = {}) const;

  // The text of a scalar; fails on lists, maps and nothing.
  std::string text(const YAML::Node& node, const std::string& name) const;

  // The keys of a map in order; fails when it is none or one stands twice.
  std::vector<std::string> keys(const YAML::Node& map,
                                const std::string& name) const;

 private:
  std::string what_;
  std::filesystem::path path_;
  YAML::Node root_;
};

}  // namespace braid::cli
