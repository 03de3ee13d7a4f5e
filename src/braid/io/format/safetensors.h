// Safetensors: tensors by name in one file, as the `safetensors` library of
// Python writes and reads them.
//
//   8 bytes  length of the header, little-endian
//   header   JSON: {"name": {"dtype": "F32", "shape": [2, 3],
//                            "data_offsets": [begin, end]}, ...}
//   data     the tensors one after the other, without holes
//
// Files are not trusted: every length and offset is checked before use, and
// whatever is wrong becomes a std::runtime_error that names the file.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "braid/base/dtype.h"
#include "braid/base/shape.h"
#include "braid/io/file/file.h"

namespace braid::io {

// A named tensor somewhere in memory, row-major. The bytes are borrowed, and
// in a file they need not be aligned to the element size: copy, do not cast.
struct TensorBytes {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  Bytes bytes;
};

using Metadata = std::map<std::string, std::string>;

struct SafetensorsContent {
  std::vector<TensorBytes> tensors;  // in the order of their data
  Metadata metadata;
};

// Reads a whole file that lies in memory; the result borrows from it. `name`
// stands for the file in errors.
SafetensorsContent parse_safetensors(Bytes file,
                                     std::string_view name = "input");

// An open file: the mapping lives as long as this object, also when it moves.
// Reading is thread-safe.
class SafetensorsFile {
 public:
  static SafetensorsFile open(const std::filesystem::path& path);

  // In the order of the file.
  const std::vector<TensorBytes>& tensors() const { return content_.tensors; }
  std::vector<std::string> names() const;

  // The tensor of that name, owned by this object, or null.
  const TensorBytes* find(std::string_view name) const;

  const Metadata& metadata() const { return content_.metadata; }

  // As MappedFile::check().
  void check() const { file_.check(); }

 private:
  SafetensorsFile(MappedFile file, SafetensorsContent content);

  MappedFile file_;
  SafetensorsContent content_;
  std::map<std::string, size_t, std::less<>> index_;  // into tensors()
};

// What a file begins with, for tensors whose bytes come later, one after the
// other; those that are given here do not count.
std::string safetensors_head(std::span<const TensorBytes> tensors,
                             const Metadata& metadata = {});

// Writes the tensors in the order given, all or nothing; blocks until they
// are on the disk. Equal input gives equal bytes, whose sum is returned.
FileSum write_safetensors(const std::filesystem::path& path,
                          std::span<const TensorBytes> tensors,
                          const Metadata& metadata = {});

}  // namespace braid::io
