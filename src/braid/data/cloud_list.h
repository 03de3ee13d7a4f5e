// Which clouds of a folder are wanted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "braid/data/options.h"

namespace braid::data {

struct CloudFile {
  std::filesystem::path path;
  std::string name;   // "02691156/1a04e3eab45ca15dd86060f189eb133"
  int64_t label = 0;  // its folder
};

struct CloudList {
  std::vector<CloudFile> files;
  std::vector<std::string> classes;  // folders by their number
};

// By `folder`, `classes`, `list` and `limit` of the options. Folders are
// numbered whichever clouds of them are wanted. Throws std::runtime_error where
// something is not there.
CloudList list_clouds(const Options& options);

}  // namespace braid::data
