// Solvers: from an Instance to a plan, each a row of a table. The first one,
// `certified`, says with every plan what no plan can be faster than.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "braid/plan/solve/duals.h"
#include "braid/plan/solve/instance.h"
#include "braid/plan/solve/replay.h"

namespace braid::plan {

struct SolveOptions {
  std::string solver = "certified";
  // Work, not seconds: the same on any load. 0: what fits the size. For
  // `certified` steps of the bound per depth, for `random` plans drawn.
  int64_t effort = 0;
  uint64_t seed = 0;
};

// No plan of this depth that keeps the limits is faster than either number.
struct DepthBound {
  int depth = 0;
  int64_t floor_ns = 0;  // of a plan with the least of every number of the rows
  int64_t dual_ns = 0;   // of the duals; without prices there are none
  Duals duals = {};
  bool searched =
      false;  // none is faster than the solution: all were looked at
};

// What a solver answers. The same instance and options give the same answer.
struct Solution {
  bool feasible = false;  // then depth, modes and timeline are a plan's
  int depth = 0;
  std::vector<int32_t> modes = {};  // the row of each segment
  Timeline timeline = {};

  // No plan is faster than this; 0 where the solver knows nothing.
  int64_t lower_bound_ns = 0;
  // No plan is faster than this one, or there is none that fits.
  bool proved = false;

  // Where no plan was found: the least peak of plans that keep the host's
  // limit, and what none can go below. Without such plans both are -1.
  int64_t least_peak_bytes = -1;
  int64_t least_peak_bound = -1;
  int64_t least_host_bytes = 0;  // that some plan needs

  // What is known of each depth, so that others can check it. lower_bound_ns is
  // their least, or higher where all plans of a depth were looked at.
  std::vector<DepthBound> bounds = {};

  // From the duals of the plan's depth: what a further byte would save, and
  // which part of the time passes on each stream of those that are waited for.
  double ns_per_byte = 0;
  double ns_per_host_byte = 0;
  std::vector<double> slot_ns_per_byte = {};
  std::array<double, kNumStreams> stream_shares = {};

  int64_t time_ns() const { return timeline.time_ns; }
  int64_t peak_bytes() const { return timeline.peak_bytes; }
  // How much faster a plan might be, as a part of this one's time.
  double gap() const;
};

struct Solver {
  std::string_view name;
  std::string_view words;  // what it does, for --help
  Solution (*solve)(const Instance& instance, const SolveOptions& options);
};

std::span<const Solver> solvers();

// Checks the instance and solves it. Throws std::invalid_argument for an
// unknown solver, an effort below 0 and what check_instance() refuses.
Solution solve(const Instance& instance, const SolveOptions& options = {});

// The plan with the time and bytes of replay(); not feasible when they do not
// fit the limits.
Solution solution_of(const Instance& instance, int depth,
                     std::vector<int32_t> modes);

// Which part of the time that the flow passes is on each stream.
std::array<double, kNumStreams> stream_shares(const Instance& instance,
                                              std::span<const int32_t> modes,
                                              const Duals& duals);

// The row of each segment with the least time of its busiest stream.
std::vector<int32_t> fastest_rows(const Instance& instance);

// One file each.
Solution solve_certified(const Instance& instance, const SolveOptions& options);
Solution solve_dp(const Instance& instance, const SolveOptions& options);
Solution solve_greedy(const Instance& instance, const SolveOptions& options);
Solution solve_random(const Instance& instance, const SolveOptions& options);
Solution solve_all_on(const Instance& instance, const SolveOptions& options);
Solution solve_all_off(const Instance& instance, const SolveOptions& options);

}  // namespace braid::plan
