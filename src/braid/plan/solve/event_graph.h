// EventGraph: what waits for what in a step of one depth, whatever rows are
// chosen. Every path through it is no longer than the step of any plan, so a
// mix of paths (a flow) bounds all of them at once.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "braid/plan/solve/instance.h"

namespace braid::plan {

enum class EventKind {
  kGate,     // the slot opens; that of slot 0 is where everything begins
  kFetch,    // its copy in is done, hf or hb
  kGather,   // gf or gb
  kCompute,  // f or b
  kScatter,  // rb
  kEvict,    // of or ob
  kUpdate,   // u
  kEnd,      // of the step; its slot is 0
};

struct Event {
  EventKind kind = EventKind::kGate;
  int32_t slot = 0;
};

class EventGraph {
 public:
  static constexpr int kMostBefore = 3;
  static constexpr int32_t kNoTime = -1;

  struct Node {
    Event event;
    int32_t time = kNoTime;  // index of its field in kTimeFields
    int32_t num_before = 0;
    std::array<int32_t, kMostBefore> before = {};  // that it waits for
  };

  // An arc that only some rows of a segment have is not there.
  EventGraph(const Instance& instance, int depth);

  // Each behind all that it waits for: the first is the gate of slot 0, the
  // last the end.
  const std::vector<Node>& nodes() const { return nodes_; }
  int size() const { return static_cast<int>(nodes_.size()); }

 private:
  void add_slot(int p);
  void add_fetch(int q);
  void add_gather(int q);
  void add_evict(int p, int32_t now);
  bool waits_for_gate(int p) const;
  int32_t add(EventKind kind, int slot, int32_t time,
              std::initializer_list<int32_t> before);
  template <class Test>
  bool all_rows(int slot, const Test& test) const;
  template <class Test>
  bool any_row(int slot, const Test& test) const;

  const Instance& instance_;
  int depth_, n_, slots_;
  std::vector<Node> nodes_;
  // Node of each slot, kNone where there is none.
  std::vector<int32_t> gate_, fetch_, gather_, compute_, evict_;
  int fetched_ = 0;
  int32_t comm_, update_;  // the last ones
};

}  // namespace braid::plan
