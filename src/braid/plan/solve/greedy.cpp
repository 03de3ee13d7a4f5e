// Greedy: from the fastest rows down to the limit, always by the change that
// costs the least time per byte off the peak. Every depth is tried.
#include "braid/plan/solve/rows.h"
#include "braid/plan/solve/search.h"
#include "braid/plan/solve/solve.h"

namespace braid::plan {

Solution solve_greedy(const Instance& instance, const SolveOptions&) {
  Rows rows = undominated_rows(instance);
  Incumbent best;
  for (int depth : instance.depths) {
    Evaluator plan(instance, depth);
    plan.assign(fastest_rows(instance));
    if (descend_to_limit(plan, rows)) best.offer(plan);
  }
  if (!best.is_found) return {};
  return solution_of(instance, best.depth, best.modes);
}

}  // namespace braid::plan
