// Search for fast plans of one depth: rounding of fractions, descent to the
// limit by the cheapest bytes, and annealing. All of it is deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "braid/base/rng.h"
#include "braid/plan/solve/evaluator.h"
#include "braid/plan/solve/rows.h"

namespace braid::plan {

// The best plan so far that keeps the limits.
struct Incumbent {
  bool is_found = false;
  int depth = 0;
  int64_t time_ns = 0;
  std::vector<int32_t> modes = {};

  // Takes the plan of the evaluator when it fits and is faster.
  bool offer(Evaluator& plan);
  // Of plans that may be better: below this time.
  int64_t target() const { return is_found ? time_ns : kNoLimit; }
};

// Numbers that follow each other from a seed.
class Draws {
 public:
  explicit Draws(uint64_t seed) : seed_(seed) {}
  uint64_t next() { return mix_bits(seed_, count_++); }
  int below(size_t limit) {
    return static_cast<int>((next() >> 32) * limit >> 32);
  }
  double unit() { return unit_interval(static_cast<uint32_t>(next() >> 32)); }

 private:
  uint64_t seed_, count_ = 0;
};

// One row per segment, so that each row comes as often among neighbours as its
// fractions say: a third becomes every third segment.
std::vector<int32_t> round_fractions(
    const Rows& rows, const std::vector<std::vector<double>>& fractions);

// Changes rows until the plan fits, always that one which costs the least time
// per byte off the peak. False when no row gets nearer to the limits.
bool descend_to_limit(Evaluator& plan, const Rows& rows);

// Changes single rows as long as that makes a plan that fits faster.
void climb(Evaluator& plan, const Rows& rows);

struct AnnealOptions {
  int64_t moves = 0;
  double hot = 0, cold = 0;  // temperatures at the begin and the end, ns
  double price = 0;          // ns per byte above the device's limit,
  double host_price = 0;     // above the host's
  int64_t bound = 0;         // no plan of this depth is faster
};

// From the plan of the evaluator; what is found on the way is offered.
void anneal(Evaluator& plan, const Rows& rows, const AnnealOptions& options,
            Draws& draws, Incumbent& incumbent);

}  // namespace braid::plan
