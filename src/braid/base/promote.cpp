#include "braid/base/promote.h"

#include <utility>

namespace braid {
namespace {

// Bool 0, integers 1, floats 2, complex numbers 3.
int category(DType dtype) {
  if (dtype == DType::kBool) return 0;
  if (is_complex(dtype)) return 3;
  return is_floating(dtype) ? 2 : 1;
}

}  // namespace

DType promote(DType a, DType b) {
  // The enumeration is ordered from narrow to wide; three pairs need a type
  // wider than both.
  if (a > b) std::swap(a, b);
  if (a == DType::kUInt8 && b == DType::kInt8) return DType::kInt16;
  if (a == DType::kFloat16 && b == DType::kBFloat16) return DType::kFloat32;
  if (a == DType::kFloat64 && b == DType::kComplex64) return DType::kComplex128;
  return b;
}

DType promote(DType a, bool a_is_scalar, DType b, bool b_is_scalar) {
  if (a_is_scalar == b_is_scalar || category(a) == category(b)) {
    if (a_is_scalar != b_is_scalar) return a_is_scalar ? b : a;
    return promote(a, b);
  }
  return category(a) > category(b) ? a : b;
}

}  // namespace braid
