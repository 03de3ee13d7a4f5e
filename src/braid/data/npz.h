// .npz files of NumPy: zip archives of .npy files, stored (numpy.savez) or
// deflated (numpy.savez_compressed).
#pragma once

#include <string>
#include <vector>

#include "braid/data/npy_array.h"

namespace braid::data {

bool looks_like_npz(io::Bytes bytes);

// The arrays that are wanted, "x" or "x=x_train" with another name for the
// field; all when none is named. Stored ones are used in place. Everything is
// read once, to compare its checksum. Throws std::runtime_error for whatever
// is wrong with the file, and when it has no such array.
std::vector<Column> read_npz(const std::string& who,
                             const std::vector<std::string>& wanted,
                             const std::string& file, io::Bytes bytes,
                             NpyMemory& memory);

// The only array of the file, as that field; several are an error.
Column read_npz_alone(const std::string& who, const std::string& field,
                      const std::string& file, io::Bytes bytes,
                      NpyMemory& memory);

}  // namespace braid::data
