// The solver that bounds: a relaxation of each depth gives duals, which bound
// the time of all plans, and fractions, which are rounded to plans; descent and
// annealing make those faster. A depth whose bound has reached the best plan is
// closed. Few segments are searched to the end.
#include <algorithm>
#include <memory>

#include "braid/plan/solve/branch.h"
#include "braid/plan/solve/least_peak.h"
#include "braid/plan/solve/relaxation.h"
#include "braid/plan/solve/search.h"
#include "braid/plan/solve/solve.h"

namespace braid::plan {
namespace {

constexpr int kMostProved = 12;        // segments
constexpr int64_t kLooks = 3'000'000;  // of the proof of a depth

int64_t default_effort(const Instance& instance) {
  int n = instance.num_segments();
  return std::clamp<int64_t>(10 * n - 180, 300, 1500);
}

// Moves of annealing for a step of the bound, which take about as long.
int64_t moves_per_step(const Instance& instance) {
  return std::clamp(20'000 / instance.num_segments(), 40, 100);
}

// A depth, and what is known of it.
struct DepthState {
  int depth = 0;
  int64_t bound = 0;  // the highest one; kNoLimit: no plan fits
  Rows rows = {};     // that a plan may have
  DepthBound known = {};
  std::unique_ptr<Relaxation> relaxation = {};
  std::vector<Duals> pool = {};  // that each run of it ended with

  bool has_duals() const { return !known.duals.prices.empty(); }
};

class Certified {
 public:
  Certified(const Instance& instance, const SolveOptions& options)
      : instance_(instance),
        rows_(undominated_rows(instance)),
        effort_(options.effort > 0 ? options.effort : default_effort(instance)),
        draws_(mix_bits(options.seed, 0x706C616E)) {}

  Solution run() {
    find_floors();
    try_fixed_plans();
    if (!is_done() && !find_start()) return std::move(solution_);
    if (!is_done()) bound_depths(effort_);
    for (int round = 0; round < 3 && !is_done(); ++round) improve(round);
    if (!is_done()) bound_weakest();
    if (!is_done()) prove();
    return answer();
  }

 private:
  // --- bounds --------------------------------------------------------------
  // The best of the rows that may be, of each number: no plan of that depth is
  // faster.
  void find_floors() {
    for (int depth : instance_.depths) {
      DepthState state{.depth = depth, .bound = kNoLimit};
      state.rows = possible_rows(instance_, rows_, depth);
      if (!state.rows.empty()) state.bound = floor_of(state.rows, depth);
      state.known = {.depth = depth, .floor_ns = state.bound};
      depths_.push_back(std::move(state));
    }
  }

  int64_t floor_of(const Rows& rows, int depth) const {
    Instance best = with_best_rows(instance_, rows);
    std::vector<int32_t> last;
    for (const SegmentModes& segment : best.segments) {
      last.push_back(static_cast<int32_t>(segment.modes.size()) - 1);
    }
    return replay(best, depth, last).time_ns;
  }

  int64_t bound() const {
    int64_t least = incumbent_.target();
    for (const DepthState& state : depths_) {
      least = std::min(least, state.bound);
    }
    return least;
  }

  bool is_open(const DepthState& state) const {
    return state.bound < incumbent_.target();
  }
  bool is_done() const {
    return incumbent_.is_found && bound() >= incumbent_.time_ns;
  }

  void bound_depths(int64_t steps) {
    const Relaxation* last = nullptr;
    for (DepthState& state : depths_) {
      if (!is_open(state)) continue;
      if (!state.relaxation) {
        state.relaxation =
            std::make_unique<Relaxation>(instance_, state.rows, state.depth);
        if (last) state.relaxation->start_from(*last);
      }
      run_bound(state, steps);
      last = state.relaxation.get();
    }
  }

  void run_bound(DepthState& state, int64_t steps) {
    if (incumbent_.is_found) {
      state.relaxation->set_target(static_cast<double>(incumbent_.time_ns));
    }
    state.relaxation->run(steps);
    Duals duals = state.relaxation->duals();
    int64_t bound = lower_bound(instance_, state.rows, duals);
    if (instance_.num_segments() <= kMostProved) state.pool.push_back(duals);
    if (state.has_duals() && bound <= state.known.dual_ns) return;
    state.known.dual_ns = bound;
    state.known.duals = std::move(duals);
    state.bound = std::max(state.bound, bound);
  }

  // The depth that holds the bound down gets what it can use.
  void bound_weakest() {
    constexpr int kRounds = 6;
    for (int round = 0; round < kRounds && !is_done(); ++round) {
      auto weakest = std::ranges::min_element(depths_, {}, &DepthState::bound);
      if (!weakest->relaxation) return;
      int64_t before = weakest->bound;
      run_bound(*weakest, effort_ / 2);
      int64_t gap = incumbent_.time_ns - weakest->bound;
      if (weakest->bound - before < gap / 20) return;
    }
  }

  // --- plans ---------------------------------------------------------------
  void try_fixed_plans() {
    size_t most = 0;
    for (const SegmentModes& segment : instance_.segments) {
      most = std::max(most, segment.modes.size());
    }
    for (const DepthState& state : depths_) {
      Evaluator plan(instance_, state.depth);
      std::vector<int32_t> modes(rows_.size());
      for (size_t m = 0; m < most; ++m) {
        for (size_t i = 0; i < rows_.size(); ++i) {
          size_t last = instance_.segments[i].modes.size() - 1;
          modes[i] = static_cast<int32_t>(std::min(m, last));
        }
        plan.assign(modes);
        incumbent_.offer(plan);
        if (is_done()) return;
      }
    }
  }

  // A plan that fits, if there is one; else why not.
  bool find_start() {
    if (!incumbent_.is_found) {
      least_ = find_least_peak(instance_, rows_, effort_);
      solution_.least_host_bytes = least_host_bytes(instance_);
      if (!least_.is_found || least_.bound_bytes > instance_.device_bytes) {
        say_why_not();
        return false;
      }
      Evaluator plan(instance_, least_.depth);
      plan.assign(least_.modes);
      incumbent_.offer(plan);
    }
    // The fastest rows, and from there down to the limit.
    for (const DepthState& state : depths_) {
      if (state.rows.empty()) continue;
      Evaluator plan(instance_, state.depth);
      plan.assign(fastest_rows(instance_));
      if (!descend_to_limit(plan, state.rows)) continue;
      climb(plan, state.rows);
      incumbent_.offer(plan);
    }
    if (!incumbent_.is_found) say_why_not();
    return incumbent_.is_found;
  }

  void say_why_not() {
    if (!least_.is_found) {
      solution_.proved = true;
      return;
    }
    solution_.least_peak_bytes = least_.peak_bytes;
    solution_.least_peak_bound = least_.bound_bytes;
    solution_.proved = least_.bound_bytes > instance_.device_bytes;
  }

  void improve(int round) {
    std::vector<DepthState*> open;
    for (DepthState& state : depths_) {
      if (is_open(state)) open.push_back(&state);
    }
    std::ranges::stable_sort(open, {}, &DepthState::bound);
    for (DepthState* state : open) {
      if (is_open(*state)) improve_depth(*state, round);
      if (is_done()) return;
    }
  }

  void improve_depth(DepthState& state, int round) {
    Rows rows = worthwhile_rows(state);
    Evaluator plan(instance_, state.depth);
    if (round == 0 || !incumbent_.is_found || incumbent_.depth != state.depth) {
      plan.assign(round_fractions(state.rows, state.relaxation->fractions()));
    } else {
      plan.assign(incumbent_.modes);
    }
    if (descend_to_limit(plan, rows)) {
      climb(plan, rows);
      incumbent_.offer(plan);
    }
    anneal(plan, rows, anneal_options(state, round), draws_, incumbent_);
    finish(state, rows);
  }

  AnnealOptions anneal_options(const DepthState& state, int round) const {
    constexpr double kHot[] = {0.1, 0.4, 0.03};
    AnnealOptions options{.moves = effort_ * moves_per_step(instance_) / 3};
    double slot = static_cast<double>(std::max<int64_t>(state.bound, 1)) /
                  instance_.num_slots();
    options.hot = kHot[round] * slot;
    options.cold = 0.001 * slot;
    // Where the duals say that bytes are free they are not quite.
    double floor = slot / (1 + static_cast<double>(instance_.device_bytes));
    options.price = 1.5 * state.relaxation->price_sum() + floor;
    options.host_price = 1.5 * state.relaxation->host_price() +
                         slot / (1 + static_cast<double>(instance_.host_bytes));
    options.bound = state.bound;
    return options;
  }

  // Small steps from the best plan.
  void finish(const DepthState& state, const Rows& rows) {
    if (!incumbent_.is_found || incumbent_.depth != state.depth) return;
    Evaluator plan(instance_, state.depth);
    plan.assign(incumbent_.modes);
    climb(plan, rows);
    incumbent_.offer(plan);
  }

  // Rows that a faster plan of this depth may have.
  Rows worthwhile_rows(const DepthState& state) const {
    if (!incumbent_.is_found || !state.has_duals()) return state.rows;
    const Duals& duals = state.known.duals;
    auto costs = row_costs(instance_, duals);
    __int128 slack = static_cast<__int128>(incumbent_.time_ns) * kDualOne -
                     scaled_bound(instance_, state.rows, duals);
    Rows rows = state.rows;
    for (size_t i = 0; i < rows.size(); ++i) {
      __int128 most = least_cost(costs[i], rows[i]) + slack;
      std::erase_if(rows[i],
                    [&](int32_t row) { return costs[i][size_t(row)] > most; });
      if (rows[i].empty()) rows[i] = state.rows[i];
    }
    return rows;
  }

  void prove() {
    if (instance_.num_segments() > kMostProved) return;
    for (DepthState& state : depths_) {
      if (!is_open(state)) continue;
      run_bound(state, effort_);
      if (!is_open(state)) continue;
      int64_t looks = kLooks;
      Rows rows = worthwhile_rows(state);
      if (branch_and_bound(instance_, rows, state.depth, state.pool, incumbent_,
                           &looks)) {
        state.known.searched = true;
        state.bound = incumbent_.target();
      }
    }
  }

  // --- the answer ----------------------------------------------------------
  Solution answer() {
    Solution made = solution_of(instance_, incumbent_.depth, incumbent_.modes);
    made.lower_bound_ns = bound();
    made.proved = made.lower_bound_ns >= made.time_ns();
    for (DepthState& state : depths_) {
      if (state.depth == made.depth && state.has_duals()) explain(state, made);
      made.bounds.push_back(std::move(state.known));
    }
    return made;
  }

  void explain(const DepthState& state, Solution& made) const {
    for (int64_t price : state.known.duals.prices) {
      made.slot_ns_per_byte.push_back(static_cast<double>(price) / kDualOne);
      made.ns_per_byte += made.slot_ns_per_byte.back();
    }
    made.ns_per_host_byte =
        static_cast<double>(state.known.duals.host_price) / kDualOne;
    made.stream_shares =
        stream_shares(instance_, made.modes, state.known.duals);
  }

  const Instance& instance_;
  Rows rows_;
  int64_t effort_;
  Draws draws_;
  Incumbent incumbent_;
  std::vector<DepthState> depths_;
  LeastPeak least_;
  Solution solution_;
};

}  // namespace

Solution solve_certified(const Instance& instance,
                         const SolveOptions& options) {
  return Certified(instance, options).run();
}

}  // namespace braid::plan
