// A struct from the text of a YAML file.
#pragma once

#include <string>
#include <string_view>

#include "braid/config/reader.h"
#include "braid/config/yaml_reader.h"

namespace braid::config {

// Throws std::invalid_argument that lists all that is wrong, by line:
// "[cluster] big.yaml line 3: ...".
template <class T>
T read_file_text(std::string_view text, const std::string& who,
                 const std::string& file, const Folders& folders = {}) {
  Report report(who, file);
  Node root = parse_yaml(text, report);
  report.throw_if_any();
  T config;
  read_config(root, config, folders, report);
  report.throw_if_any();
  return config;
}

}  // namespace braid::config
