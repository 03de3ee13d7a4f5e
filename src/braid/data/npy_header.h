// The header of a .npy file (NumPy's NEP 1, versions 1 to 3):
//
//   6 bytes  "\x93NUMPY"
//   2 bytes  version
//   2 bytes  (version 1) or 4: length of the text, little-endian
//   text     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//   data     row-major, or the first index fastest when 'fortran_order'
#pragma once

#include <string>

#include "braid/data/elements.h"
#include "braid/data/file_cursor.h"

namespace braid::data {

struct NpyHeader {
  Element element;
  bool fortran_order = false;
  Shape shape;
};

// Reads the header and leaves the cursor at the data. Throws
// std::runtime_error for anything else, also for types that no sample has.
NpyHeader read_npy_header(FileCursor& cursor);

// Bytes of the array that follows, which must be all that is left.
size_t npy_bytes(const FileCursor& cursor, const NpyHeader& header);

}  // namespace braid::data
