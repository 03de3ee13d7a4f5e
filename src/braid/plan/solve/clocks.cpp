#include "braid/plan/solve/clocks.h"

#include <algorithm>

namespace braid::plan {

Clocks::Clocks(const Instance& instance, int depth)
    : instance_(instance),
      n_(instance.num_segments()),
      slots_(instance.num_slots()),
      depth_(depth) {
  timeline_.slots.resize(static_cast<size_t>(slots_));
}

const Timeline& Clocks::run(std::span<const int32_t> modes) {
  modes_ = modes;
  for (auto* row : {&gate_, &fetch_, &gather_, &compute_, &evict_}) {
    row->assign(static_cast<size_t>(slots_), 0);
  }
  timeline_.streams = {};
  fetched_ = 0;
  fetch_end_ = comm_end_ = update_ = 0;
  for (int p = 0; p < slots_; ++p) step(p);
  timeline_.time_ns = std::max(evict(slots_ - 1), update_);
  return timeline_;
}

void Clocks::step(int p) {
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
bool Clocks::waits_for_gate(int p) const {
  return p >= n_ && depth_ > 0 && p < slots_ - 1;
}

// Copies in, and the gather that waits for its own copy.
void Clocks::fetch(int q) {
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
void Clocks::end_slot(int p, int64_t now) {
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

void Clocks::use(Stream stream, int64_t work, int64_t end) {
  if (work == 0) return;
  StreamUse& use = timeline_.streams[static_cast<size_t>(stream)];
  use.busy_ns += work;
  use.finish_ns = end;
}

const Mode& Clocks::mode_of(int p) const {
  int i = segment_of_slot(p, n_);
  return instance_.mode(i, modes_[static_cast<size_t>(i)]);
}

}  // namespace braid::plan
