// YAML files with errors that name the file and the line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "braid/config/node.h"

namespace braid::cli {

class YamlFile {
 public:
  // `what` begins messages: "members" gives "[members] runs.yaml line 3: ...".
  YamlFile(std::string what, std::filesystem::path path);

  const config::Node& root() const { return root_; }
  const std::filesystem::path& path() const { return path_; }

  // "runs.yaml line 3"
  std::string place(const config::Node& node) const;

  // Throws std::invalid_argument about a node, with a hint when there is one.
  [[noreturn]] void fail(const config::Node& node, const std::string& problem,
                         const std::string& hint = {}) const;

  // The text of a value; fails on lists, maps and nothing.
  std::string text(const config::Node& node, const std::string& name) const;

  // The items of a map in order; fails when it is none.
  const std::vector<config::Node>& items(const config::Node& map,
                                         const std::string& name) const;

 private:
  std::string what_;
  std::filesystem::path path_;
  config::Node root_;
};

}  // namespace braid::cli
