#include "braid/plan/solve/rows.h"

#include <algorithm>

#include "braid/plan/solve/evaluator.h"

namespace braid::plan {
namespace {

bool no_more(const Mode& a, const Mode& b, const auto& fields) {
  return std::ranges::all_of(fields, [&](const ModeField& field) {
    return a.*(field.at) <= b.*(field.at);
  });
}

// Whether a is no worse than b in anything.
bool covers(const Mode& a, const Mode& b) {
  return no_more(a, b, kTimeFields) && no_more(a, b, kByteFields) &&
         a.host <= b.host && (!a.dep || b.dep);
}

// Of equal rows the first one counts.
bool is_dominated(const std::vector<Mode>& modes, size_t m) {
  for (size_t other = 0; other < modes.size(); ++other) {
    if (other == m || !covers(modes[other], modes[m])) continue;
    if (other < m || !covers(modes[m], modes[other])) return true;
  }
  return false;
}

void take_less(Mode& least, const Mode& mode, const auto& fields) {
  for (const ModeField& field : fields) {
    least.*(field.at) = std::min(least.*(field.at), mode.*(field.at));
  }
}

// One pass over all segments; whether a row went.
bool drop_impossible(const Instance& instance, int depth, Rows& rows) {
  Instance with_best = with_best_rows(instance, rows);
  Evaluator plan(with_best, depth);
  std::vector<int32_t> best;
  for (const SegmentModes& segment : with_best.segments) {
    best.push_back(static_cast<int32_t>(segment.modes.size()) - 1);
  }
  plan.assign(best);
  size_t dropped = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    dropped += std::erase_if(rows[i], [&](int32_t row) {
      plan.set(static_cast<int>(i), row);
      bool fits = plan.fits();
      plan.undo();
      return !fits;
    });
  }
  return dropped > 0;
}

}  // namespace

Rows undominated_rows(const Instance& instance) {
  Rows rows;
  for (const SegmentModes& segment : instance.segments) {
    rows.emplace_back();
    for (size_t m = 0; m < segment.modes.size(); ++m) {
      if (is_dominated(segment.modes, m)) continue;
      rows.back().push_back(static_cast<int32_t>(m));
    }
  }
  return rows;
}

Rows possible_rows(const Instance& instance, const Rows& rows, int depth) {
  Rows left = rows;
  while (drop_impossible(instance, depth, left)) {
    if (std::ranges::any_of(left, &std::vector<int32_t>::empty)) return {};
  }
  return left;
}

Instance with_best_rows(const Instance& instance, const Rows& rows) {
  Instance made = instance;
  for (size_t i = 0; i < rows.size(); ++i) {
    made.segments[i].modes.push_back(
        best_of_rows(instance.segments[i], rows[i]));
  }
  return made;
}

Mode best_of_rows(const SegmentModes& segment,
                  const std::vector<int32_t>& rows) {
  Mode least = segment.modes[static_cast<size_t>(rows.front())];
  for (int32_t row : rows) {
    const Mode& mode = segment.modes[static_cast<size_t>(row)];
    take_less(least, mode, kTimeFields);
    take_less(least, mode, kByteFields);
    least.host = std::min(least.host, mode.host);
    least.dep = least.dep && mode.dep;
  }
  return least;
}

}  // namespace braid::plan
