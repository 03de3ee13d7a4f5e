#include "braid/plan/solve/replay.h"

#include <algorithm>

namespace braid::plan {
namespace {

// The clocks of one step. Index p of a row is slot p.
class Clocks {
 public:
  Clocks(const Instance& instance, int depth, std::span<const int32_t> modes)
      : instance_(instance),
        n_(instance.num_segments()),
        slots_(instance.num_slots()),
        depth_(depth),
        modes_(modes) {
    for (auto* row : {&gate_, &fetch_, &gather_, &compute_, &evict_}) {
      row->assign(static_cast<size_t>(slots_), 0);
    }
  }

  Timeline run() {
    timeline_.slots.resize(static_cast<size_t>(slots_));
    for (int p = 0; p < slots_; ++p) step(p);
    timeline_.time_ns = std::max(evict(slots_ - 1), update_);
    return std::move(timeline_);
  }

 private:
  void step(int p) {
    int64_t gate = std::max(compute(p - 1), evict(p - depth_ - 1));
    at(gate_, p) = gate;
    // Fetches go in order; that of a forward slot is needed by nobody before.
    int last = p < n_ ? p : std::min(p + depth_, slots_ - 1);
    for (; fetched_ <= last; ++fetched_) fetch(fetched_);
    if (waits_for_gate(p - 1)) end_slot(p - 1, gate);
    SlotTimes& slot = timeline_.slots[static_cast<size_t>(p)];
    slot.open_ns = gate;
    slot.begin_ns = std::max({gate, at(fetch_, p), at(gather_, p)});
    const Mode& mode = mode_of(p);
    int64_t work = p < n_ ? mode.f : mode.b;
    at(compute_, p) = slot.end_ns = slot.begin_ns + work;
    use(Stream::kCompute, work, slot.end_ns);
    if (!waits_for_gate(p)) end_slot(p, compute(p));
  }

  // A reduce-scatter is queued behind the gather that the next gate issues.
  // Without depth that gate waits for it, and there is no such gather yet.
  bool waits_for_gate(int p) const {
    return p >= n_ && depth_ > 0 && p < slots_ - 1;
  }

  // Copies in, and the gather that waits for its own copy.
  void fetch(int q) {
    const Mode& mode = mode_of(q);
    bool forward = q < n_;
    int64_t copy = forward ? mode.hf : mode.hb;
    int64_t gather = forward ? mode.gf : mode.gb;
    int64_t issue = at(gate_, std::max(q - depth_, 0));
    int64_t own = issue;
    if (copy > 0) {
      bool reads_evicted = !forward && mode.dep && mode.of > 0;
      if (reads_evicted) own = std::max(own, evict(slots_ - 1 - q));
      own = fetch_end_ = std::max(fetch_end_, own) + copy;
      at(fetch_, q) = own;
      use(Stream::kHostToDevice, copy, own);
    }
    if (gather > 0) {
      comm_end_ = std::max(comm_end_, own) + gather;
      at(gather_, q) = comm_end_;
      use(Stream::kComm, gather, comm_end_);
    }
  }

  // What follows slot p, queued at `now`: its reduce-scatter, then what leaves
  // the device, then the update of the segment on the host.
  void end_slot(int p, int64_t now) {
    const Mode& mode = mode_of(p);
    bool forward = p < n_;
    int64_t ready = std::max(compute(p), evict(p - 1));
    if (!forward && mode.rb > 0) {
      comm_end_ = std::max(comm_end_, now) + mode.rb;
      ready = std::max(ready, comm_end_);
      use(Stream::kComm, mode.rb, comm_end_);
    }
    int64_t work = forward ? mode.of : mode.ob;
    at(evict_, p) = ready + work;
    use(Stream::kDeviceToHost, work, evict(p));
    if (forward || mode.u == 0) return;
    update_ = std::max(update_, evict(p)) + mode.u;
    use(Stream::kHostUpdate, mode.u, update_);
  }

  void use(Stream stream, int64_t work, int64_t end) {
    if (work == 0) return;
    StreamUse& use = timeline_.streams[static_cast<size_t>(stream)];
    use.busy_ns += work;
    use.finish_ns = end;
  }

  const Mode& mode_of(int p) const {
    int i = segment_of_slot(p, n_);
    return instance_.mode(i, modes_[static_cast<size_t>(i)]);
  }

  static int64_t& at(std::vector<int64_t>& row, int p) {
    return row[static_cast<size_t>(p)];
  }
  int64_t compute(int p) { return p < 0 ? 0 : at(compute_, p); }
  int64_t evict(int p) { return p < 0 ? 0 : at(evict_, p); }

  const Instance& instance_;
  int n_, slots_, depth_;
  std::span<const int32_t> modes_;
  Timeline timeline_;
  std::vector<int64_t> gate_, fetch_, gather_, compute_, evict_;
  int fetched_ = 0;  // the first slot that no fetch was issued for
  int64_t fetch_end_ = 0, comm_end_ = 0, update_ = 0;
};

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
  Timeline timeline = Clocks(instance, depth, modes).run();
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
