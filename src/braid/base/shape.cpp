#include "braid/base/shape.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "braid/base/error.h"

namespace braid {

int64_t num_elements(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 0) fail_usage("[shape] negative size in {}", shape_text(shape));
    if (__builtin_mul_overflow(count, size, &count)) {
      fail_usage("[shape] too many elements in {}", shape_text(shape));
    }
  }
  return count;
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    if (strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

bool is_dense(const Shape& shape, const Strides& strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return true;
    if (shape[i] > 1) dims.emplace_back(strides[i], shape[i]);
  }
  std::ranges::sort(dims);
  int64_t step = 1;
  for (auto [stride, size] : dims) {
    if (stride != step) return false;
    step *= size;
  }
  return true;
}

int64_t span_elements(const Shape& shape, const Strides& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    last += (shape[i] - 1) * strides[i];
  }
  return last + 1;
}

int64_t normalize_dim(int64_t dim, int64_t rank, const char* where) {
  int64_t limit = std::max<int64_t>(rank, 1);
  if (dim < -limit || dim >= limit) {
    fail_usage("[{}] dimension {} is outside a value of rank {}", where, dim,
               rank);
  }
  return dim < 0 ? dim + limit : dim;
}

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* where) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      fail_usage("[{}] shapes {} and {} do not broadcast", where, shape_text(a),
                 shape_text(b));
    }
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

std::string shape_text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::optional<Strides> view_strides(const Shape& shape, const Strides& strides,
                                    const Shape& target) {
  if (num_elements(shape) == 0) return contiguous_strides(target);
  Strides result(target.size());
  auto t = static_cast<int64_t>(target.size()) - 1;
  auto at = [](const auto& list, int64_t i) {
    return list[static_cast<size_t>(i)];
  };
  auto s = static_cast<int64_t>(shape.size()) - 1;
  while (s >= 0) {
    int64_t run = at(shape, s);  // elements of one gapless run
    int64_t step = at(strides, s);
    while (s > 0 && (at(shape, s - 1) == 1 || run == 1 ||
                     at(strides, s - 1) == run * step)) {
      --s;
      if (run == 1) step = at(strides, s);
      run *= at(shape, s);
    }
    int64_t covered = 1;
    while (t >= 0 && (covered < run || at(target, t) == 1)) {
      result[static_cast<size_t>(t)] = covered * step;
      covered *= at(target, t);
      --t;
    }
    if (covered != run) return std::nullopt;
    --s;
  }
  for (; t >= 0; --t) result[static_cast<size_t>(t)] = 1;
  return result;
}

}  // namespace braid
