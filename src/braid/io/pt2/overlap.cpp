#include "braid/io/pt2/overlap.h"

#include <algorithm>

namespace braid::io::pt2 {
namespace {

// Where the elements of a tensor lie in its storage, counted in elements. The
// reader has checked that they do.
class Places {
 public:
  explicit Places(const TensorMeta& meta)
      : shape_(sizes_of(meta)), begin_(meta.offset.value) {
    for (const Size& stride : meta.strides) strides_.push_back(stride.value);
    end_ = begin_ + 1;
    for (size_t d = 0; d < shape_.size(); ++d) {
      end_ += (shape_[d] - 1) * strides_[d];
    }
    if (std::ranges::count(shape_, 0) > 0) end_ = begin_;
  }

  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }
  bool is_dense() const { return num_elements(shape_) == end_ - begin_; }

  // Calls f(place) for every element; ends when it says true.
  template <class F>
  bool any(const F& f) const {
    return begin_ < end_ && any_from(0, begin_, f);
  }

 private:
  template <class F>
  bool any_from(size_t d, int64_t place, const F& f) const {
    if (d == shape_.size()) return f(place);
    // Along a stride of 0 there is one element.
    int64_t count = strides_[d] == 0 ? 1 : shape_[d];
    for (int64_t i = 0; i < count; ++i) {
      if (any_from(d + 1, place + i * strides_[d], f)) return true;
    }
    return false;
  }

  Shape shape_, strides_;
  int64_t begin_, end_ = 0;
};

}  // namespace

std::pair<int64_t, int64_t> extent(const TensorMeta& meta) {
  Places places(meta);
  return {places.begin(), places.end()};
}

bool overlap(const StoredTensor& a, const StoredTensor& b) {
  if (a.begin != b.begin || a.path != b.path) return false;
  Places x(a.meta), y(b.meta);
  int64_t from = std::max(x.begin(), y.begin());
  int64_t to = std::min(x.end(), y.end());
  if (from >= to) return false;
  if (x.is_dense() && y.is_dense()) return true;
  std::vector<bool> taken(static_cast<size_t>(to - from));
  auto inside = [&](int64_t place) { return place >= from && place < to; };
  x.any([&](int64_t place) {
    if (inside(place)) taken[static_cast<size_t>(place - from)] = true;
    return false;
  });
  return y.any([&](int64_t place) {
    return inside(place) && taken[static_cast<size_t>(place - from)];
  });
}

}  // namespace braid::io::pt2
