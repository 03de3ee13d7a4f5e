// Where data comes from: files in the formats people have, and generators
// that need no download. all_sources() is the table that job files, --help
// and docs/data.md share; a source is one file here with its row.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "braid/data/dataset.h"
#include "braid/data/opening.h"
#include "braid/data/options.h"

namespace braid::data {

struct Source {
  std::string name;
  std::string summary;
  std::string fields;  // in words: "x f32 [1, size, size], y i64"
  std::vector<Option> options;
  DatasetPtr (*open)(const Options& options) = nullptr;
  // In its place for sources that learn from training data how to read.
  DatasetPtr (*open_with)(const Options& options,
                          const Opening& opening) = nullptr;
};

const std::vector<Source>& all_sources();

// The row of that name; an unknown one is an error that names the nearest.
const Source& find_source(std::string_view name);

// Opens a source with options as text; relative paths are taken from `base`.
// Reads what is needed to know fields, size and classes. With a split in the
// opening all samples are given, for both parts. Throws
// std::invalid_argument for wrong options, std::runtime_error for bad files.
DatasetPtr open_source(std::string_view name, const Texts& texts = {},
                       const std::filesystem::path& base = {},
                       const Opening& opening = {});

}  // namespace braid::data
