// What stands behind `braid train` and `braid validate`: job files and values
// that count over them, in any order.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace braid::cli {

struct JobArguments {
  std::vector<std::filesystem::path> files = {};
  std::vector<std::string> overrides = {};
};

// The first is a file, and so is whatever ends as one (.yaml, .yml) or exists;
// but KEY=VALUE is a value, unless it exists, or KEY has a '/' in it.
JobArguments split_arguments(const std::vector<std::string>& words);

}  // namespace braid::cli
