#include "braid/plan/solve/replay.h"

#include <algorithm>

#include "braid/plan/solve/clocks.h"

namespace braid::plan {
namespace {

// Bytes that are added to ranges of slots.
class SlotBytes {
 public:
  explicit SlotBytes(int slots) : change_(static_cast<size_t>(slots) + 1) {}

  // From slot `first` to slot `last`, both of them.
  void add(int first, int last, int64_t bytes) {
    int end = static_cast<int>(change_.size()) - 1;
    first = std::max(first, 0);
    last = std::min(last, end - 1);
    if (first > last) return;
    change_[static_cast<size_t>(first)] += bytes;
    change_[static_cast<size_t>(last) + 1] -= bytes;
  }

  std::vector<int64_t> sums() && {
    for (size_t p = 1; p < change_.size(); ++p) change_[p] += change_[p - 1];
    change_.pop_back();
    return std::move(change_);
  }

 private:
  std::vector<int64_t> change_;
};

}  // namespace

std::vector<int64_t> slot_bytes(const Instance& instance, int depth,
                                std::span<const int32_t> modes) {
  int n = instance.num_segments(), end = instance.num_slots();
  SlotBytes bytes(end);
  for (int i = 0; i < n; ++i) {
    const Mode& mode = instance.mode(i, modes[static_cast<size_t>(i)]);
    int back = end - 1 - i;
    bytes.add(0, end - 1, mode.res);
    bytes.add(i, back, mode.keep);
    bytes.add(i, i, mode.xf);
    bytes.add(back, back, mode.xb);
    bytes.add(i - depth, i, mode.wf);
    bytes.add(back - depth, back, mode.wb);
    bytes.add(i + 1, i + depth, mode.lf);
    bytes.add(back + 1, back + depth, mode.lb);
    bytes.add(back + 1, end - 1, mode.grad);
  }
  for (const Edge& edge : instance.edges) {
    bytes.add(edge.from, edge.to, edge.bytes);
    bytes.add(end - 1 - edge.to, end - 1 - edge.from, edge.bytes);
  }
  return std::move(bytes).sums();
}

Timeline replay(const Instance& instance, int depth,
                std::span<const int32_t> modes) {
  Timeline timeline = Clocks(instance, depth).run(modes);
  std::vector<int64_t> bytes = slot_bytes(instance, depth, modes);
  for (size_t p = 0; p < bytes.size(); ++p) timeline.slots[p].bytes = bytes[p];
  auto most = std::ranges::max_element(bytes);
  timeline.peak_bytes = *most;
  timeline.binding_slot = static_cast<int>(most - bytes.begin());
  for (int i = 0; i < instance.num_segments(); ++i) {
    timeline.host_bytes += instance.mode(i, modes[static_cast<size_t>(i)]).host;
  }
  return timeline;
}

}  // namespace braid::plan
