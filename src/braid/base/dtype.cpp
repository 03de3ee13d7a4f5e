#include "braid/base/dtype.h"

#include <array>

namespace braid {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  int64_t bytes;
  enum { kWhole, kFloat, kComplex } kind;
};

constexpr std::array<Row, 12> kRows = {{
    {DType::kBool, "bool", 1, Row::kWhole},
    {DType::kUInt8, "u8", 1, Row::kWhole},
    {DType::kInt8, "i8", 1, Row::kWhole},
    {DType::kInt16, "i16", 2, Row::kWhole},
    {DType::kInt32, "i32", 4, Row::kWhole},
    {DType::kInt64, "i64", 8, Row::kWhole},
    {DType::kFloat16, "f16", 2, Row::kFloat},
    {DType::kBFloat16, "bf16", 2, Row::kFloat},
    {DType::kFloat32, "f32", 4, Row::kFloat},
    {DType::kFloat64, "f64", 8, Row::kFloat},
    {DType::kComplex64, "c64", 8, Row::kComplex},
    {DType::kComplex128, "c128", 16, Row::kComplex},
}};

const Row& row_of(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

int64_t item_bytes(DType dtype) { return row_of(dtype).bytes; }

bool is_floating(DType dtype) { return row_of(dtype).kind == Row::kFloat; }

bool is_complex(DType dtype) { return row_of(dtype).kind == Row::kComplex; }

std::string_view dtype_name(DType dtype) { return row_of(dtype).name; }

std::optional<DType> find_dtype(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace braid
