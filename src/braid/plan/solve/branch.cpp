#include "braid/plan/solve/branch.h"

#include <algorithm>
#include <numeric>

namespace braid::plan {
namespace {

using Wide = __int128;

// A plan that is decided segment by segment; those that are not yet have the
// best of each number. It is no slower and no larger than any that it may
// become.
class PartialPlan {
 public:
  PartialPlan(const Instance& instance, const Rows& rows, int depth)
      : instance_(with_best_rows(instance, rows)), plan_(instance_, depth) {
    std::vector<int32_t> open;
    for (const SegmentModes& segment : instance_.segments) {
      open.push_back(static_cast<int32_t>(segment.modes.size()) - 1);
    }
    plan_.assign(open);
  }

  void decide(int segment, int32_t row) {
    plan_.set(segment, row);
    plan_.keep();
  }
  void open(int segment) {
    const auto& modes = instance_.segments[size_t(segment)].modes;
    decide(segment, static_cast<int32_t>(modes.size()) - 1);
  }
  Evaluator& plan() { return plan_; }

 private:
  Instance instance_;
  Evaluator plan_;
};

// What prices say about a plan in part: a sum over its segments.
class CostSum {
 public:
  CostSum(const Rows& rows, std::vector<std::vector<Wide>> costs, Wide sum)
      : above_(std::move(costs)), sum_(sum) {
    for (size_t i = 0; i < rows.size(); ++i) {
      Wide least = least_cost(above_[i], rows[i]);
      for (Wide& cost : above_[i]) cost -= least;
    }
  }
  // What a row adds to the bound.
  Wide above(int segment, int32_t row) const {
    return above_[size_t(segment)][size_t(row)];
  }
  Wide spread(int segment, const std::vector<int32_t>& rows) const {
    Wide most = 0;
    for (int32_t row : rows) most = std::max(most, above(segment, row));
    return most;
  }
  Wide sum() const { return sum_; }
  void add(Wide above) { sum_ += above; }

 private:
  std::vector<std::vector<Wide>> above_;
  Wide sum_;
};

// Segments with the most at stake first, of each the most promising row first.
std::vector<int> search_order(const std::vector<CostSum>& sums, Rows& rows) {
  std::vector<int> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  if (sums.empty()) return order;
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](int i) {
    return sums.back().spread(i, rows[size_t(i)]);
  });
  for (size_t i = 0; i < rows.size(); ++i) {
    std::ranges::stable_sort(rows[i], {}, [&](int32_t row) {
      return sums.back().above(static_cast<int>(i), row);
    });
  }
  return order;
}

// Goes through all plans that `Goal` does not leave out.
template <class Goal>
class Search {
 public:
  Search(const Instance& instance, const Rows& rows, int depth,
         std::vector<CostSum> sums, Goal goal, int64_t* looks)
      : rows_(rows),
        partial_(instance, rows, depth),
        sums_(std::move(sums)),
        order_(search_order(sums_, rows_)),
        goal_(goal),
        looks_(looks) {}

  // False when there are no looks left.
  bool run() { return may_be_better() ? decide(0) : true; }

 private:
  bool may_be_better() {
    for (size_t k = 0; k < sums_.size(); ++k) {
      if (!goal_.allows(sums_[k].sum(), k)) return false;
    }
    return goal_.allows(partial_.plan());
  }

  bool decide(size_t at) {
    if (at == order_.size()) {
      goal_.take(partial_.plan());
      return true;
    }
    int i = order_[at];
    bool finished = true;
    for (int32_t row : rows_[size_t(i)]) {
      if (--*looks_ < 0) return false;
      add(i, row, 1);
      partial_.decide(i, row);
      finished = !may_be_better() || decide(at + 1);
      add(i, row, -1);
      if (!finished) break;
    }
    partial_.open(i);
    return finished;
  }

  void add(int segment, int32_t row, int sign) {
    for (CostSum& sum : sums_) sum.add(sign * sum.above(segment, row));
  }

  Rows rows_;
  PartialPlan partial_;
  std::vector<CostSum> sums_;
  std::vector<int> order_;
  Goal goal_;
  int64_t* looks_;
};

// Plans that fit and are faster than the incumbent.
struct LessTime {
  const Instance& instance;
  Incumbent& incumbent;

  bool allows(Wide sum, size_t) const {
    return sum <= Wide{incumbent.target() - 1} * kDualOne;
  }
  bool allows(Evaluator& plan) const {
    return plan.host() <= instance.host_bytes &&
           plan.peak() <= instance.device_bytes &&
           plan.time() < incumbent.target();
  }
  void take(Evaluator& plan) const { incumbent.offer(plan); }
};

// Plans that keep the host's limit and have a lower peak.
struct LessPeak {
  const Instance& instance;
  const std::vector<PeakPrices>& pool;
  int64_t* peak;
  std::vector<int32_t>* modes;

  bool allows(Wide sum, size_t k) const {
    return sum <= Wide{*peak - 1} * pool[k].total;
  }
  bool allows(Evaluator& plan) const {
    return plan.host() <= instance.host_bytes && plan.peak() < *peak;
  }
  void take(Evaluator& plan) const {
    *peak = plan.peak();
    *modes = plan.modes();
  }
};

}  // namespace

bool branch_and_bound(const Instance& instance, const Rows& rows, int depth,
                      const std::vector<Duals>& pool, Incumbent& incumbent,
                      int64_t* looks) {
  std::vector<CostSum> sums;
  for (const Duals& duals : pool) {
    sums.emplace_back(rows, row_costs(instance, duals),
                      scaled_bound(instance, rows, duals));
  }
  return Search(instance, rows, depth, std::move(sums),
                LessTime{instance, incumbent}, looks)
      .run();
}

bool branch_on_peak(const Instance& instance, const Rows& rows, int depth,
                    const std::vector<PeakPrices>& pool, int64_t* peak,
                    std::vector<int32_t>* modes, int64_t* looks) {
  std::vector<CostSum> sums;
  for (const PeakPrices& prices : pool) {
    Wide sum = prices.constant;
    for (size_t i = 0; i < rows.size(); ++i) {
      sum += least_cost(prices.costs[i], rows[i]);
    }
    sums.emplace_back(rows, prices.costs, sum);
  }
  return Search(instance, rows, depth, std::move(sums),
                LessPeak{instance, pool, peak, modes}, looks)
      .run();
}

}  // namespace braid::plan
