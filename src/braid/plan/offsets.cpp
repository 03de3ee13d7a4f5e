// Best fit, largest first. To look at all neighbours of each allocation would
// take quadratic time: activations live side by side for half of a step. But
// most of them also lie side by side. So a tree over time keeps the bytes that
// are taken as ranges in which neighbours have become one, and what stands in
// the way of an allocation is a few ranges of a few nodes of the tree.
#include "braid/plan/offsets.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <map>

#include "braid/base/bytes.h"

namespace braid::plan {
namespace {

// Moments or bytes; `end` is behind the last one.
struct Range {
  int64_t begin, end;
};

bool is_apart(Range a, Range b) { return a.end <= b.begin || b.end <= a.begin; }

bool holds(Range whole, Range part) {
  return whole.begin <= part.begin && part.end <= whole.end;
}

// Ranges of bytes of which no two touch.
class Ranges {
 public:
  void add(Range range) {
    auto next = ends_.upper_bound(range.begin);
    if (next != ends_.begin() && std::prev(next)->second >= range.begin) --next;
    while (next != ends_.end() && next->first <= range.end) {
      range.begin = std::min(range.begin, next->first);
      range.end = std::max(range.end, next->second);
      next = ends_.erase(next);
    }
    ends_.emplace_hint(next, range.begin, range.end);
  }

  void append_to(std::vector<Range>& list) const {
    for (auto [begin, end] : ends_) list.push_back({begin, end});
  }

 private:
  std::map<int64_t, int64_t> ends_;  // by begin
};

// Which bytes are taken when.
class Occupied {
 public:
  explicit Occupied(int64_t moments)
      : moments_{0, static_cast<int64_t>(
                        std::bit_ceil(static_cast<uint64_t>(moments)))},
        throughout_(static_cast<size_t>(2 * moments_.end)),
        ever_(static_cast<size_t>(2 * moments_.end)) {}

  void take(Range time, Range bytes) { take(1, moments_, time, bytes); }

  // All bytes that are taken at some moment of `time`, by begin; ranges may
  // overlap.
  const std::vector<Range>& taken(Range time) {
    found_.clear();
    find(1, moments_, time);
    std::ranges::sort(found_, {}, &Range::begin);
    return found_;
  }

 private:
  static Range first_half(Range of) { return {of.begin, middle(of)}; }
  static Range second_half(Range of) { return {middle(of), of.end}; }
  static int64_t middle(Range of) { return (of.begin + of.end) / 2; }

  // `node` stands for the moments `of`.
  void take(size_t node, Range of, Range time, Range bytes) {
    if (is_apart(of, time)) return;
    ever_[node].add(bytes);
    if (holds(time, of)) return throughout_[node].add(bytes);
    take(2 * node, first_half(of), time, bytes);
    take(2 * node + 1, second_half(of), time, bytes);
  }

  void find(size_t node, Range of, Range time) {
    if (is_apart(of, time)) return;
    if (holds(time, of)) return ever_[node].append_to(found_);
    throughout_[node].append_to(found_);
    find(2 * node, first_half(of), time);
    find(2 * node + 1, second_half(of), time);
  }

  Range moments_;
  // By node of the tree: what was taken for all of its moments, but not for
  // all of those of the node above; what was taken for any of them, but not
  // for all of those of a node above.
  std::vector<Ranges> throughout_, ever_;
  std::vector<Range> found_;
};

// The smallest gap that holds `bytes`, else the end.
int64_t best_gap(const std::vector<Range>& taken, int64_t bytes) {
  int64_t end = 0;
  int64_t best = -1;
  int64_t best_room = 0;
  for (const Range& range : taken) {
    int64_t room = range.begin - end;
    if (room >= bytes && (best < 0 || room < best_room)) {
      best = end;
      best_room = room;
    }
    end = std::max(end, range.end);
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
  Occupied occupied(int64_t{last} + 1);
  int64_t arena = 0;
  for (Allocation* a : order) {
    int64_t bytes = align_up(a->bytes, kAlignment);
    Range time{a->begin, int64_t{a->end} + 1};
    a->offset = best_gap(occupied.taken(time), bytes);
    occupied.take(time, {a->offset, a->offset + bytes});
    arena = std::max(arena, a->offset + bytes);
  }
  return arena;
}

}  // namespace braid::plan
