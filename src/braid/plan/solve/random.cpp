// Random: plans drawn at random, each with any depth; the fastest that fits
// counts, or else every segment with its most savings.
#include "braid/plan/solve/search.h"
#include "braid/plan/solve/solve.h"

namespace braid::plan {

Solution solve_random(const Instance& instance, const SolveOptions& options) {
  constexpr int64_t kPlans = 1000;
  Draws draws(options.seed);
  Incumbent best;
  int64_t plans = options.effort > 0 ? options.effort : kPlans;
  std::vector<Evaluator> evaluators;
  for (int depth : instance.depths) evaluators.emplace_back(instance, depth);
  std::vector<int32_t> modes(instance.segments.size());
  for (int64_t k = 0; k < plans; ++k) {
    Evaluator& plan = evaluators[size_t(draws.below(evaluators.size()))];
    for (size_t i = 0; i < modes.size(); ++i) {
      modes[i] = draws.below(instance.segments[i].modes.size());
    }
    plan.assign(modes);
    best.offer(plan);
  }
  if (!best.is_found) return solve_all_on(instance, options);
  return solution_of(instance, best.depth, best.modes);
}

}  // namespace braid::plan
