// Records of TensorFlow (TFRecord): what event files are made of.
//
//   8 bytes  length of the data, little-endian
//   4 bytes  masked CRC-32C of the length
//   n bytes  data
//   4 bytes  masked CRC-32C of the data
#pragma once

#include <string>
#include <vector>

#include "braid/io/file/file.h"

namespace braid::io {

// The data as a record.
std::string record_text(std::string_view data);

// A record in a file; both borrow from it.
struct Record {
  Bytes whole;
  Bytes data;
};

// The records up to the end, or up to the first that is cut or damaged.
std::vector<Record> read_records(Bytes file);

}  // namespace braid::io
