// Best fit, largest first. To look at all neighbours of each allocation would
// take quadratic time: activations live side by side for half of a step. So
// trees over time answer two questions first: where the neighbours end, and how
// many bytes of them are alive at the fullest moment. When nothing is left
// between those two, there is no gap and the place is the end.
#include "braid/plan/offsets.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "braid/base/bytes.h"

namespace braid::plan {
namespace {

struct Span {
  size_t first, last;
};

struct Greater {
  int64_t operator()(int64_t a, int64_t b) const { return std::max(a, b); }
};

// Numbers from 0, one per moment. Join says how a number takes in another.
template <class Join>
class Moments {
 public:
  explicit Moments(size_t count)
      : all_{0, std::bit_ceil(std::max<size_t>(count, 1)) - 1},
        most_(2 * (all_.last + 1), 0),
        marks_(most_.size(), 0) {}

  // All numbers of the span take in `value`.
  void join(Span span, int64_t value) { join(1, all_, span, value); }

  // The greatest number of the span.
  int64_t most(Span span) const { return most(1, all_, span); }

 private:
  static bool is_apart(Span a, Span b) {
    return a.last < b.first || b.last < a.first;
  }
  static bool holds(Span whole, Span part) {
    return whole.first <= part.first && part.last <= whole.last;
  }
  static size_t middle(Span span) { return (span.first + span.last) / 2; }

  void join(size_t node, Span of, Span span, int64_t value) {
    if (is_apart(of, span)) return;
    if (holds(span, of)) {
      most_[node] = Join()(most_[node], value);
      marks_[node] = Join()(marks_[node], value);
      return;
    }
    join(2 * node, {of.first, middle(of)}, span, value);
    join(2 * node + 1, {middle(of) + 1, of.last}, span, value);
    most_[node] =
        Join()(std::max(most_[2 * node], most_[2 * node + 1]), marks_[node]);
  }

  int64_t most(size_t node, Span of, Span span) const {
    if (is_apart(of, span)) return 0;
    if (holds(span, of)) return most_[node];
    int64_t left = most(2 * node, {of.first, middle(of)}, span);
    int64_t right = most(2 * node + 1, {middle(of) + 1, of.last}, span);
    return Join()(std::max(left, right), marks_[node]);
  }

  Span all_;
  std::vector<int64_t> most_;   // in the span of a node of the tree
  std::vector<int64_t> marks_;  // taken in by all of its span
};

// Allocations that have a place, by the time that they are alive.
class Placed {
 public:
  explicit Placed(std::vector<const Allocation*> all) : by_begin_(all) {
    std::ranges::stable_sort(by_begin_, {}, &Allocation::begin);
    size_ = std::bit_ceil(std::max<size_t>(all.size(), 1));
    ends_.assign(2 * size_, kNone);
  }

  void add(const Allocation& a) {
    auto at =
        std::ranges::lower_bound(by_begin_, a.begin, {}, &Allocation::begin);
    while (*at != &a) ++at;
    auto node = size_ + static_cast<size_t>(at - by_begin_.begin());
    for (; node > 0; node /= 2) ends_[node] = std::max(ends_[node], a.end);
  }

  // Those that are alive together with `a`, by offset.
  const std::vector<const Allocation*>& neighbours(const Allocation& a) {
    auto end =
        std::ranges::upper_bound(by_begin_, a.end, {}, &Allocation::begin);
    found_.clear();
    find(1, size_, a.begin, static_cast<size_t>(end - by_begin_.begin()));
    std::ranges::sort(found_, {}, &Allocation::offset);
    return found_;
  }

 private:
  // Among the first `count`, those that end at `from` or later. The node of
  // the tree holds `width` of them.
  void find(size_t node, size_t width, int32_t from, size_t count) {
    size_t first = node * width - size_;
    if (ends_[node] < from || first >= count) return;
    if (width == 1) {
      found_.push_back(by_begin_[first]);
      return;
    }
    find(2 * node, width / 2, from, count);
    find(2 * node + 1, width / 2, from, count);
  }

  std::vector<const Allocation*> by_begin_;
  size_t size_ = 0;            // leaves of the tree
  std::vector<int32_t> ends_;  // the latest of each node; kNone: none placed
  std::vector<const Allocation*> found_;
};

int64_t room_for(const Allocation& a) { return align_up(a.bytes, kAlignment); }

// The smallest gap between placed neighbours that holds `bytes`, else the end.
int64_t best_gap(const std::vector<const Allocation*>& neighbours,
                 int64_t bytes) {
  int64_t end = 0;
  int64_t best = -1;
  int64_t best_room = std::numeric_limits<int64_t>::max();
  for (const Allocation* n : neighbours) {  // sorted by offset
    int64_t room = n->offset - end;
    if (room >= bytes && room < best_room) {
      best = end;
      best_room = room;
    }
    end = std::max(end, n->offset + room_for(*n));
  }
  return best >= 0 ? best : end;
}

}  // namespace

int64_t place_allocations(std::vector<Allocation>& allocations, Space space) {
  std::vector<Allocation*> order;
  int32_t last = 0;
  for (Allocation& a : allocations) {
    if (a.space != space) continue;
    a.offset = 0;
    last = std::max(last, a.end);
    if (a.bytes > 0) order.push_back(&a);
  }
  std::ranges::stable_sort(order, std::greater<>(), &Allocation::bytes);
  auto count = static_cast<size_t>(last) + 1;
  Moments<std::plus<int64_t>> alive(count);
  Moments<Greater> ends(count);
  Placed placed({order.begin(), order.end()});
  int64_t arena = 0;
  for (Allocation* a : order) {
    int64_t bytes = room_for(*a);
    Span span{static_cast<size_t>(a->begin), static_cast<size_t>(a->end)};
    int64_t end = ends.most(span);
    bool has_gap = end - alive.most(span) >= bytes;
    a->offset = has_gap ? best_gap(placed.neighbours(*a), bytes) : end;
    alive.join(span, bytes);
    ends.join(span, a->offset + bytes);
    placed.add(*a);
    arena = std::max(arena, a->offset + bytes);
  }
  return arena;
}

}  // namespace braid::plan
