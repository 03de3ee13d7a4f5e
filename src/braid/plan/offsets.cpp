#include "braid/plan/offsets.h"

#include <algorithm>
#include <limits>

#include "braid/base/bytes.h"

namespace braid::plan {
namespace {

bool overlap_in_time(const Allocation& a, const Allocation& b) {
  return a.begin <= b.end && b.begin <= a.end;
}

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
    end = std::max(end, n->offset + align_up(n->bytes, kAlignment));
  }
  return best >= 0 ? best : end;
}

}  // namespace

int64_t place_allocations(std::vector<Allocation>& allocations, Space space) {
  std::vector<Allocation*> order;
  for (Allocation& a : allocations) {
    if (a.space == space) order.push_back(&a);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Allocation* a, const Allocation* b) {
                     return a->bytes > b->bytes;
                   });
  auto by_offset = [](const Allocation* a, const Allocation* b) {
    return a->offset < b->offset;
  };
  std::vector<const Allocation*> placed;  // sorted by offset
  std::vector<const Allocation*> neighbours;
  int64_t arena = 0;
  for (Allocation* a : order) {
    neighbours.clear();
    for (const Allocation* p : placed) {
      if (overlap_in_time(*a, *p)) neighbours.push_back(p);
    }
    int64_t bytes = align_up(a->bytes, kAlignment);
    a->offset = best_gap(neighbours, bytes);
    arena = std::max(arena, a->offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), a, by_offset),
                  a);
  }
  return arena;
}

}  // namespace braid::plan
