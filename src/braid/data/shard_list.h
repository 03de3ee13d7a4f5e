// Which files the shards of a dataset are, and what their headers say.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "braid/data/options.h"
#include "braid/data/shard_files.h"
#include "braid/data/stored_field.h"

namespace braid::data {

// Where the rows of one field begin.
struct ShardPlace {
  size_t file = 0;  // of ShardFiles
  size_t offset = 0;
};

struct Shard {
  int64_t rows = 0;
  std::vector<ShardPlace> places;  // by field
};

struct ShardList {
  std::vector<StoredField> fields;  // the same in all shards
  std::vector<Shard> shards;        // in the order of their names
  std::unique_ptr<ShardFiles> files;
};

// Finds the files that the options `folder`, `pattern`, `files` and `tensors`
// name and reads their headers, nothing else. Throws when shards do not agree:
// the error names the file and what differs.
ShardList list_shards(const Options& options);

}  // namespace braid::data
