#include "braid/plan/solve/event_graph.h"

#include <algorithm>

#include "braid/plan/solve/replay.h"

namespace braid::plan {
namespace {

constexpr int32_t index_of(std::string_view name) {
  for (size_t k = 0; k < kTimeFields.size(); ++k) {
    if (kTimeFields[k].name == name) return static_cast<int32_t>(k);
  }
  return EventGraph::kNoTime;
}

}  // namespace

EventGraph::EventGraph(const Instance& instance, int depth)
    : instance_(instance),
      depth_(depth),
      n_(instance.num_segments()),
      slots_(instance.num_slots()),
      comm_(kNone),
      update_(kNone) {
  for (auto* row : {&gate_, &fetch_, &gather_, &compute_, &evict_}) {
    row->assign(static_cast<size_t>(slots_), kNone);
  }
  for (int p = 0; p < slots_; ++p) add_slot(p);
  add(EventKind::kEnd, 0, kNoTime, {evict_.back(), update_, comm_});
}

int32_t EventGraph::add(EventKind kind, int slot, int32_t time,
                        std::initializer_list<int32_t> before) {
  Node node{.event = {kind, slot}, .time = time};
  for (int32_t id : before) {
    if (id == kNone) continue;
    node.before[static_cast<size_t>(node.num_before++)] = id;
  }
  nodes_.push_back(node);
  return size() - 1;
}

template <class Test>
bool EventGraph::all_rows(int slot, const Test& test) const {
  int i = segment_of_slot(slot, n_);
  return std::ranges::all_of(instance_.segments[static_cast<size_t>(i)].modes,
                             test);
}

template <class Test>
bool EventGraph::any_row(int slot, const Test& test) const {
  return !all_rows(slot, [&](const Mode& mode) { return !test(mode); });
}

bool EventGraph::waits_for_gate(int p) const {
  return p >= n_ && depth_ > 0 && p < slots_ - 1;
}

void EventGraph::add_slot(int p) {
  auto at = static_cast<size_t>(p);
  auto evicted = p - depth_ - 1;
  gate_[at] = add(EventKind::kGate, p, kNoTime,
                  {p > 0 ? compute_[at - 1] : kNone,
                   evicted < 0 ? kNone : evict_[size_t(evicted)]});
  int last = p < n_ ? p : std::min(p + depth_, slots_ - 1);
  for (; fetched_ <= last; ++fetched_) {
    add_fetch(fetched_);
    add_gather(fetched_);
  }
  if (p > 0 && waits_for_gate(p - 1)) add_evict(p - 1, gate_[at]);
  static constexpr int32_t kForward = index_of("f"), kBackward = index_of("b");
  compute_[at] = add(EventKind::kCompute, p, p < n_ ? kForward : kBackward,
                     {gate_[at], fetch_[at], gather_[at]});
  if (!waits_for_gate(p)) add_evict(p, compute_[at]);
}

void EventGraph::add_fetch(int q) {
  static constexpr int32_t kForward = index_of("hf"),
                           kBackward = index_of("hb");
  bool backward = q >= n_;
  bool reads = backward && all_rows(q, [](const Mode& mode) {
                 return mode.dep && mode.hb > 0 && mode.of > 0;
               });
  fetch_[size_t(q)] = add(EventKind::kFetch, q, backward ? kBackward : kForward,
                          {q > 0 ? fetch_[size_t(q) - 1] : kNone,
                           gate_[size_t(std::max(q - depth_, 0))],
                           reads ? evict_[size_t(slots_ - 1 - q)] : kNone});
}

void EventGraph::add_gather(int q) {
  static constexpr int32_t kForward = index_of("gf"),
                           kBackward = index_of("gb");
  auto gather = q < n_ ? &Mode::gf : &Mode::gb;
  auto copy = q < n_ ? &Mode::hf : &Mode::hb;
  if (!any_row(q, [&](const Mode& m) { return m.*gather > 0; })) return;
  bool copies =
      all_rows(q, [&](const Mode& m) { return m.*gather > 0 && m.*copy > 0; });
  comm_ = add(EventKind::kGather, q, q < n_ ? kForward : kBackward,
              {comm_, gate_[size_t(std::max(q - depth_, 0))],
               copies ? fetch_[size_t(q)] : kNone});
  bool always = all_rows(q, [&](const Mode& m) { return m.*gather > 0; });
  if (always) gather_[size_t(q)] = comm_;
}

void EventGraph::add_evict(int p, int32_t now) {
  static constexpr int32_t kForward = index_of("of"),
                           kBackward = index_of("ob"),
                           kScatter = index_of("rb"), kUpdate = index_of("u");
  auto at = static_cast<size_t>(p);
  auto scatters = [](const Mode& mode) { return mode.rb > 0; };
  int32_t scatter = kNone;
  if (p >= n_ && any_row(p, scatters)) {
    comm_ = add(EventKind::kScatter, p, kScatter, {comm_, now});
    if (all_rows(p, scatters)) scatter = comm_;
  }
  evict_[at] = add(EventKind::kEvict, p, p < n_ ? kForward : kBackward,
                   {p > 0 ? evict_[at - 1] : kNone, compute_[at], scatter});
  if (p >= n_ && any_row(p, [](const Mode& mode) { return mode.u > 0; })) {
    update_ = add(EventKind::kUpdate, p, kUpdate, {update_, evict_[at]});
  }
}

}  // namespace braid::plan
