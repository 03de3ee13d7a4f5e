#include "braid/train/job/tensor_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "braid/base/narrow_float.h"

namespace braid::train {
namespace {

// visit(number) for each that is finite.
template <class Visit>
void for_finite(std::span<const std::byte> bytes, DType dtype, Visit visit) {
  auto item = static_cast<size_t>(item_bytes(dtype));
  for (size_t at = 0; at < bytes.size(); at += item) {
    double number = number_at(bytes.data() + at, dtype);
    if (std::isfinite(number)) visit(number);
  }
}

}  // namespace

TensorStats tensor_stats(std::span<const std::byte> bytes, DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  TensorStats stats{
      .count = static_cast<int64_t>(bytes.size()) / item_bytes(dtype),
      .least = kInfinity,
      .most = -kInfinity};
  double sum = 0, finite = 0, zeros = 0, squares = 0;
  for_finite(bytes, dtype, [&](double number) {
    ++finite;
    sum += number;
    if (number == 0) ++zeros;
    stats.least = std::min(stats.least, number);
    stats.most = std::max(stats.most, number);
  });
  stats.non_finite = stats.count - static_cast<int64_t>(finite);
  stats.zeros = zeros / static_cast<double>(stats.count);
  if (finite == 0) stats.least = stats.most = NAN;
  stats.mean = sum / finite;
  for_finite(bytes, dtype, [&](double number) {
    squares += (number - stats.mean) * (number - stats.mean);
  });
  stats.deviation = std::sqrt(squares / finite);
  return stats;
}

}  // namespace braid::train
