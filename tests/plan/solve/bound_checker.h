// Checks what a solution claims, from the words of the model alone: which rows
// a depth may have, that the flow is one through the events of a step, and what
// it and the prices bound. Sums are taken slot by slot, without any of the
// solver's code but the bytes of a plan.
#pragma once

#include <algorithm>
#include <map>

#include "braid/plan/solve/solve.h"

namespace braid::plan {

class BoundChecker {
 public:
  BoundChecker(const Instance& instance, int depth)
      : in_(instance),
        d_(depth),
        n_(instance.num_segments()),
        slots_(instance.num_slots()) {}

  // The rows of each segment that fit beside the least of every number of all
  // rows that are left; none at all when no plan fits.
  std::vector<std::vector<int>> rows() const {
    std::vector<std::vector<int>> left;
    for (const SegmentModes& segment : in_.segments) {
      left.emplace_back();
      for (size_t m = 0; m < segment.modes.size(); ++m) {
        left.back().push_back(static_cast<int>(m));
      }
    }
    for (size_t before = 0, now = 1; before != now;) {
      before = count(left);
      std::vector<Mode> least;
      for (int i = 0; i < n_; ++i) least.push_back(least_of(i, left));
      for (int i = 0; i < n_; ++i) {
        std::erase_if(left[size_t(i)],
                      [&](int m) { return !fits(least, i, in_.mode(i, m)); });
        if (left[size_t(i)].empty()) return {};
      }
      now = count(left);
    }
    return left;
  }

  // The bound in ns, as a part of kDualOne; -1: the flow is none.
  double bound(const Duals& duals) const {
    std::map<std::pair<EventKind, int>, int64_t> in, out;
    for (const FlowArc& arc : duals.arcs) {
      if (arc.flow < 0 || !is_arc(arc.from, arc.to)) return -1;
      out[{arc.from.kind, arc.from.slot}] += arc.flow;
      in[{arc.to.kind, arc.to.slot}] += arc.flow;
    }
    if (in[{EventKind::kEnd, 0}] != kDualOne) return -1;
    for (const auto& [event, flow] : in) {
      if (event.first != EventKind::kEnd && out[event] != flow) return -1;
    }
    if (out[{EventKind::kGate, 0}] != kDualOne) return -1;
    for (const auto& [event, flow] : out) {
      bool is_begin = event == std::pair(EventKind::kGate, 0);
      if (!is_begin && in[event] != flow) return -1;
    }
    auto left = rows();
    __int128 sum = -static_cast<__int128>(duals.host_price) * in_.host_bytes;
    for (int p = 0; p < slots_; ++p) {
      sum += static_cast<__int128>(duals.prices[size_t(p)]) *
             (edge_bytes(p) - in_.device_bytes);
    }
    for (int i = 0; i < n_; ++i) {
      __int128 least = -1;
      for (int m : left[size_t(i)]) {
        __int128 cost = row_cost(i, in_.mode(i, m), duals, in);
        if (least < 0 || cost < least) least = cost;
      }
      sum += least;
    }
    return static_cast<double>(sum) / static_cast<double>(kDualOne);
  }

 private:
  static size_t count(const std::vector<std::vector<int>>& rows) {
    size_t sum = 0;
    for (const auto& row : rows) sum += row.size();
    return sum;
  }

  Mode least_of(int i, const std::vector<std::vector<int>>& left) const {
    Mode least = in_.mode(i, left[size_t(i)][0]);
    for (int m : left[size_t(i)]) {
      for (const ModeField& field : kByteFields) {
        least.*(field.at) =
            std::min(least.*(field.at), in_.mode(i, m).*(field.at));
      }
      least.host = std::min(least.host, in_.mode(i, m).host);
    }
    return least;
  }

  // Bytes of a row of segment i in slot p.
  int64_t bytes(int i, const Mode& m, int p) const {
    int back = slots_ - 1 - i;
    int64_t sum = m.res;
    if (p >= i && p <= back) sum += m.keep;
    if (p == i) sum += m.xf;
    if (p == back) sum += m.xb;
    if (p >= i - d_ && p <= i) sum += m.wf;
    if (p >= back - d_ && p <= back) sum += m.wb;
    if (p > i && p <= i + d_) sum += m.lf;
    if (p > back && p <= back + d_) sum += m.lb;
    if (p > back) sum += m.grad;
    return sum;
  }

  int64_t edge_bytes(int p) const {
    int64_t sum = 0;
    int i = std::min(p, slots_ - 1 - p);
    for (const Edge& e : in_.edges) {
      if (i >= e.from && i <= e.to) sum += e.bytes;
    }
    return sum;
  }

  bool fits(const std::vector<Mode>& least, int segment,
            const Mode& mode) const {
    int64_t host = 0;
    for (int i = 0; i < n_; ++i) {
      host += (i == segment ? mode : least[size_t(i)]).host;
    }
    if (host > in_.host_bytes) return false;
    for (int p = 0; p < slots_; ++p) {
      int64_t sum = edge_bytes(p);
      for (int i = 0; i < n_; ++i) {
        sum += bytes(i, i == segment ? mode : least[size_t(i)], p);
      }
      if (sum > in_.device_bytes) return false;
    }
    return true;
  }

  __int128 row_cost(int i, const Mode& m, const Duals& duals,
                    std::map<std::pair<EventKind, int>, int64_t>& flow) const {
    int back = slots_ - 1 - i;
    auto passing = [&](EventKind kind, int p) -> __int128 {
      auto at = flow.find({kind, p});
      return at == flow.end() ? 0 : at->second;
    };
    __int128 sum = static_cast<__int128>(duals.host_price) * m.host;
    sum += passing(EventKind::kCompute, i) * m.f;
    sum += passing(EventKind::kCompute, back) * m.b;
    sum += passing(EventKind::kFetch, i) * m.hf;
    sum += passing(EventKind::kFetch, back) * m.hb;
    sum += passing(EventKind::kEvict, i) * m.of;
    sum += passing(EventKind::kEvict, back) * m.ob;
    sum += passing(EventKind::kGather, i) * m.gf;
    sum += passing(EventKind::kGather, back) * m.gb;
    sum += passing(EventKind::kScatter, back) * m.rb;
    sum += passing(EventKind::kUpdate, back) * m.u;
    for (int p = 0; p < slots_; ++p) {
      sum += static_cast<__int128>(duals.prices[size_t(p)]) * bytes(i, m, p);
    }
    return sum;
  }

  template <class Test>
  bool every(int slot, const Test& test) const {
    const auto& modes =
        in_.segments[size_t(std::min(slot, slots_ - 1 - slot))].modes;
    return std::ranges::all_of(modes, test);
  }
  bool gathers(int q) const {
    return every(q, [&](const Mode& m) { return (q < n_ ? m.gf : m.gb) > 0; });
  }
  bool copies(int q) const {
    return every(q, [&](const Mode& m) { return (q < n_ ? m.hf : m.hb) > 0; });
  }

  // Whether in every plan `to` waits for `from`.
  bool is_arc(const Event& from, const Event& to) const {
    using enum EventKind;
    int p = to.slot;
    auto is = [&](EventKind kind, int slot) {
      return from.kind == kind && from.slot == slot;
    };
    bool is_comm = from.kind == kGather || from.kind == kScatter;
    switch (to.kind) {
      case kGate: return is(kCompute, p - 1) || is(kEvict, p - d_ - 1);
      case kFetch:
        return is(kFetch, p - 1) || is(kGate, std::max(p - d_, 0)) ||
               (is(kEvict, slots_ - 1 - p) && p >= n_ &&
                every(p, [](const Mode& m) {
                  return m.dep && m.of > 0 && m.hb > 0;
                }));
      case kGather:
        return is(kGate, std::max(p - d_, 0)) ||
               (is_comm && is_queued_before(from, to)) ||
               (is(kFetch, p) && gathers(p) && copies(p));
      case kCompute:
        return is(kGate, p) || is(kFetch, p) || (is(kGather, p) && gathers(p));
      case kScatter:
        return (is_comm && is_queued_before(from, to)) ||
               (d_ > 0 && p + 1 < slots_ ? is(kGate, p + 1) : is(kCompute, p));
      case kEvict:
        return is(kEvict, p - 1) || is(kCompute, p) ||
               (is(kScatter, p) &&
                every(p, [](const Mode& m) { return m.rb > 0; }));
      case kUpdate:
        return is(kEvict, p) || (from.kind == kUpdate && from.slot < p);
      case kEnd:
        return is(kEvict, slots_ - 1) || from.kind == kUpdate || is_comm;
    }
    return false;
  }

  // The order of the comm stream: at the gate of slot p the gather of slot p +
  // d, then the scatter of slot p - 1; without depth a scatter is behind its
  // slot.
  bool is_queued_before(const Event& a, const Event& b) const {
    auto place = [&](const Event& e) {
      if (e.kind == EventKind::kGather) return 2 * std::max(e.slot - d_, 0);
      return d_ > 0 ? 2 * (e.slot + 1) + 1 : 2 * e.slot + 1;
    };
    return std::pair(place(a), a.slot) < std::pair(place(b), b.slot);
  }

  const Instance& in_;
  int d_, n_, slots_;
};

}  // namespace braid::plan
