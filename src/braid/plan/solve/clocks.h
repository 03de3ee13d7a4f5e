// Clocks: when everything in a step happens, for one plan after the other.
#pragma once

#include <span>
#include <vector>

#include "braid/plan/solve/replay.h"

namespace braid::plan {

class Clocks {
 public:
  // Borrows the instance.
  Clocks(const Instance& instance, int depth);

  // Times, slots and streams of a plan, until the next run. Takes no memory
  // beside what it has.
  const Timeline& run(std::span<const int32_t> modes);

 private:
  void step(int p);
  void fetch(int q);
  void end_slot(int p, int64_t now);
  bool waits_for_gate(int p) const;
  void use(Stream stream, int64_t work, int64_t end);
  const Mode& mode_of(int p) const;
  static int64_t& at(std::vector<int64_t>& row, int p) {
    return row[static_cast<size_t>(p)];
  }
  int64_t compute(int p) { return p < 0 ? 0 : at(compute_, p); }
  int64_t evict(int p) { return p < 0 ? 0 : at(evict_, p); }

  const Instance& instance_;
  int n_, slots_, depth_;
  std::span<const int32_t> modes_ = {};
  Timeline timeline_;
  // By slot; 0 where a slot has none.
  std::vector<int64_t> gate_, fetch_, gather_, compute_, evict_;
  int fetched_ = 0;  // the first slot that no fetch was issued for
  int64_t fetch_end_ = 0, comm_end_ = 0, update_ = 0;
};

}  // namespace braid::plan
