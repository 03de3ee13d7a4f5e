// The marker of a checkpoint: a file COMPLETE, written last, that lists the
// other files with their sizes and checksums.
//
//   [{"name": "meta.json", "bytes": 120, "crc32": "1c291ca3"}, ...]
//
// A directory whose files are not those of its marker is damaged.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "braid/io/file/file.h"

namespace braid::io {

struct MarkedFile {
  std::string name;
  FileSum sum;
};

// Blocks until it is on the disk.
void write_marker(const std::filesystem::path& directory,
                  const std::vector<MarkedFile>& files);

// The sum of a file of a checkpoint, as its marker has it: of what was written,
// whatever the disk made of it. Throws when there is none.
FileSum marked_sum(const std::filesystem::path& file);

// What is wrong with the checkpoint, in a few words; empty when nothing is.
// Reads all its files; throws when a file is there but may not be read.
std::string damage_of(const std::filesystem::path& directory);

// JSON as checkpoints hold it. Throws when it holds text that is not UTF-8.
std::string json_text(const nlohmann::json& json);
// Discarded when the bytes are no JSON.
nlohmann::json parse_json(Bytes bytes);

}  // namespace braid::io
