// An array as numpy.save writes it, found in bytes: a .npy file or a member of
// an .npz file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "braid/data/rows.h"

namespace braid::data {

// What columns point into, besides mapped files: arrays that had to be
// unpacked or put into another order.
struct NpyMemory {
  std::vector<io::MappedFile> files;
  std::vector<std::vector<std::byte>> arrays;

  void check() const {
    for (const io::MappedFile& file : files) file.check();
  }
};

// The column of the array; `file` names the bytes in errors. With the first
// index fastest (fortran_order) a sample is scattered over all of it: such an
// array is copied to `memory` in the order of rows. Throws std::runtime_error
// for what is no such array.
Column read_npy_array(const std::string& who, const std::string& field,
                      const std::string& file, io::Bytes bytes,
                      NpyMemory& memory);

// The array whose first index is fastest, with its last index fastest.
std::vector<std::byte> rows_of_columns(io::Bytes bytes, const Shape& shape,
                                       size_t item_bytes);

}  // namespace braid::data
