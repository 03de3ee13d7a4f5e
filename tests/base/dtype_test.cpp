#include "braid/base/dtype.h"

#include <gtest/gtest.h>

namespace braid {
namespace {

struct Row {
  DType dtype;
  const char* name;
  int64_t bytes;
  bool floating;
};

const Row kRows[] = {
    {DType::kBool, "bool", 1, false},
    {DType::kUInt8, "u8", 1, false},
    {DType::kInt8, "i8", 1, false},
    {DType::kInt16, "i16", 2, false},
    {DType::kInt32, "i32", 4, false},
    {DType::kInt64, "i64", 8, false},
    {DType::kFloat16, "f16", 2, true},
    {DType::kComplex64, "c64", 8, false},
    {DType::kComplex128, "c128", 16, false},
    {DType::kBFloat16, "bf16", 2, true},
    {DType::kFloat32, "f32", 4, true},
    {DType::kFloat64, "f64", 8, true},
};

TEST(DTypeTest, EachTypeHasItsNameSizeAndKind) {
  for (const Row& row : kRows) {
    EXPECT_EQ(dtype_name(row.dtype), row.name);
    EXPECT_EQ(item_bytes(row.dtype), row.bytes) << row.name;
    EXPECT_EQ(is_floating(row.dtype), row.floating) << row.name;
  }
}

TEST(DTypeTest, NamesLeadBackToTheType) {
  for (const Row& row : kRows) EXPECT_EQ(find_dtype(row.name), row.dtype);
}

TEST(DTypeTest, OtherNamesAreNotFound) {
  for (const char* name : {"", "f15", "F32", "f32 ", "float"}) {
    EXPECT_EQ(find_dtype(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace braid
