#include "braid/base/promote.h"

#include <algorithm>

namespace braid {
namespace {

// Bool 0, integers 1, floats 2.
int category(DType dtype) {
  if (dtype == DType::kBool) return 0;
  return is_floating(dtype) ? 2 : 1;
}

}  // namespace

DType promote(DType a, DType b) {
  // The enumeration is ordered from narrow to wide.
  return std::max(a, b);
}

DType promote(DType a, bool a_is_scalar, DType b, bool b_is_scalar) {
  if (a_is_scalar == b_is_scalar || category(a) == category(b)) {
    if (a_is_scalar != b_is_scalar) return a_is_scalar ? b : a;
    return promote(a, b);
  }
  return category(a) > category(b) ? a : b;
}

}  // namespace braid
