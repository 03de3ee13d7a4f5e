#include "braid/io/pt2/exported.h"

namespace braid::io::pt2 {

std::optional<DType> exported_dtype(int64_t number) {
  switch (number) {
    case 1: return DType::kUInt8;
    case 2: return DType::kInt8;
    case 3: return DType::kInt16;
    case 4: return DType::kInt32;
    case 5: return DType::kInt64;
    case 6: return DType::kFloat16;
    case 7: return DType::kFloat32;
    case 8: return DType::kFloat64;
    case 10: return DType::kComplex64;
    case 11: return DType::kComplex128;
    case 12: return DType::kBool;
    case 13: return DType::kBFloat16;
    default: return std::nullopt;
  }
}

Shape sizes_of(const TensorMeta& meta) {
  Shape shape;
  for (const Size& size : meta.sizes) shape.push_back(size.value);
  return shape;
}

}  // namespace braid::io::pt2
