#include "braid/data/npy_array.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>

#include "braid/data/file_cursor.h"
#include "braid/data/npy_header.h"

namespace braid::data {
namespace {

// One row or one column lies the same either way.
bool is_scattered(const NpyHeader& header) {
  auto is_long = [](int64_t size) { return size > 1; };
  return header.fortran_order &&
         std::ranges::count_if(header.shape, is_long) >= 2;
}

// Goes through all indices but the first, the last fastest, and knows where
// each lies when the first is fastest.
class Scattered {
 public:
  explicit Scattered(const Shape& shape) : shape_(shape), at_(shape.size()) {
    size_t step = 1;
    for (int64_t size : shape) {
      steps_.push_back(step);
      step *= static_cast<size_t>(size);
    }
  }

  size_t place() const { return place_; }

  void next() {
    for (size_t d = shape_.size(); d-- > 1;) {
      place_ += steps_[d];
      if (++at_[d] < shape_[d]) return;
      place_ -= steps_[d] * static_cast<size_t>(shape_[d]);
      at_[d] = 0;
    }
  }

 private:
  const Shape& shape_;
  Shape at_;
  std::vector<size_t> steps_;
  size_t place_ = 0;
};

}  // namespace

// A few rows at a time, so that what is written stays near.
std::vector<std::byte> rows_of_columns(io::Bytes bytes, const Shape& shape,
                                       size_t item_bytes) {
  constexpr size_t kRowsAtOnce = 32;
  auto rows = static_cast<size_t>(shape[0]);
  std::vector<std::byte> out(bytes.size());
  if (out.empty()) return out;
  size_t row_items = bytes.size() / item_bytes / rows;
  for (size_t first = 0; first < rows; first += kRowsAtOnce) {
    size_t end = std::min(rows, first + kRowsAtOnce);
    Scattered from(shape);
    for (size_t item = 0; item < row_items; ++item, from.next()) {
      for (size_t row = first; row < end; ++row) {
        std::memcpy(out.data() + (row * row_items + item) * item_bytes,
                    bytes.data() + (row + from.place()) * item_bytes,
                    item_bytes);
      }
    }
  }
  return out;
}

Column read_npy_array(const std::string& who, const std::string& field,
                      const std::string& file, io::Bytes bytes,
                      NpyMemory& memory) {
  FileCursor cursor(bytes, who, file);
  NpyHeader header = read_npy_header(cursor);
  size_t needed = npy_bytes(cursor, header);
  size_t offset = cursor.offset();
  io::Bytes data = cursor.take(needed, "");
  if (is_scattered(header)) {
    try {
      memory.arrays.push_back(rows_of_columns(
          data, header.shape, static_cast<size_t>(header.element.bytes)));
    } catch (const std::bad_alloc&) {
      cursor.fail(0, "rows one after the other",
                  fmt::format("fortran_order: True, and no memory for {} bytes",
                              data.size()),
                  "save numpy.ascontiguousarray(array)");
    }
    data = memory.arrays.back();
  }
  return {field, header.element, header.shape, data, file, offset};
}

}  // namespace braid::data
