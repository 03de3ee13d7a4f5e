#include "braid/io/format/npy.h"

#include <bit>

#include "braid/base/error.h"

static_assert(std::endian::native == std::endian::little,
              "elements are written as they lie in memory");

namespace braid::io {
namespace {

const char* descriptor(DType dtype) {
  switch (dtype) {
    case DType::kBool: return "|b1";
    case DType::kUInt8: return "|u1";
    case DType::kInt8: return "|i1";
    case DType::kInt16: return "<i2";
    case DType::kInt32: return "<i4";
    case DType::kInt64: return "<i8";
    case DType::kFloat16: return "<f2";
    case DType::kFloat32: return "<f4";
    case DType::kFloat64: return "<f8";
    case DType::kComplex64: return "<c8";
    case DType::kComplex128: return "<c16";
    case DType::kBFloat16: break;
  }
  fail_usage("[npy] NumPy has no {}", dtype_name(dtype));
}

// (3,), (3, 4); a number alone is ().
std::string tuple_text(const Shape& shape) {
  std::string text;
  for (int64_t size : shape) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
  }
  return fmt::format("({}{})", text, shape.size() == 1 ? "," : "");
}

}  // namespace

std::string npy_head(DType dtype, const Shape& shape) {
  constexpr size_t kBefore = 10, kAlignment = 64;
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                  descriptor(dtype), tuple_text(shape));
  size_t whole = kBefore + text.size() + 1;
  text.resize(text.size() + (kAlignment - whole % kAlignment) % kAlignment,
              ' ');
  text += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

}  // namespace braid::io
