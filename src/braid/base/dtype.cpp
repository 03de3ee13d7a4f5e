#include "braid/base/dtype.h"

#include <array>

namespace braid {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  int64_t bytes;
  bool floating;
};

constexpr std::array<Row, 7> kRows = {{
    {DType::kBool, "bool", 1, false},
    {DType::kUInt8, "u8", 1, false},
    {DType::kInt32, "i32", 4, false},
    {DType::kInt64, "i64", 8, false},
    {DType::kBFloat16, "bf16", 2, true},
    {DType::kFloat32, "f32", 4, true},
    {DType::kFloat64, "f64", 8, true},
}};

const Row& row_of(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

int64_t item_bytes(DType dtype) { return row_of(dtype).bytes; }

bool is_floating(DType dtype) { return row_of(dtype).floating; }

std::string_view dtype_name(DType dtype) { return row_of(dtype).name; }

std::optional<DType> find_dtype(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace braid
