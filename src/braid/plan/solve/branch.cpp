#include "braid/plan/solve/branch.h"

#include <algorithm>
#include <numeric>

namespace braid::plan {
namespace {

using Wide = __int128;

// A plan that is decided segment by segment; those that are not yet have the
// best of each number. It is no slower and no larger than any that it may become.
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

// What duals say about a plan in part: a sum over its segments.
class DualSum {
 public:
  DualSum(const Instance& instance, const Rows& rows, const Duals& duals)
      : above_(row_costs(instance, duals)),
        sum_(scaled_bound(instance, rows, duals)) {
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
  bool allows(int64_t time) const { return sum_ <= Wide{time} * kDualOne; }
  void add(Wide above) { sum_ += above; }

 private:
  std::vector<std::vector<Wide>> above_;
  Wide sum_;
};

class TimeSearch {
 public:
  TimeSearch(const Instance& instance, const Rows& rows, int depth,
             const std::vector<Duals>& pool, Incumbent& incumbent,
             int64_t* looks)
      : instance_(instance),
        rows_(rows),
        partial_(instance, rows, depth),
        incumbent_(incumbent),
        looks_(looks) {
    for (const Duals& duals : pool) {
      sums_.emplace_back(instance, rows, duals);
    }
    order_.resize(rows.size());
    std::iota(order_.begin(), order_.end(), 0);
    if (sums_.empty()) return;
    std::ranges::stable_sort(order_, std::ranges::greater{}, [&](int i) {
      return sums_[0].spread(i, rows_[size_t(i)]);
    });
    for (size_t i = 0; i < rows_.size(); ++i) {
      std::ranges::stable_sort(rows_[i], {}, [&](int32_t row) {
        return sums_[0].above(static_cast<int>(i), row);
      });
    }
  }

  bool run() { return may_be_better() ? decide(0) : true; }

 private:
  bool may_be_better() {
    int64_t target = incumbent_.target();
    for (const DualSum& sum : sums_) {
      if (!sum.allows(target - 1)) return false;
    }
    Evaluator& plan = partial_.plan();
    return plan.host() <= instance_.host_bytes &&
           plan.peak() <= instance_.device_bytes && plan.time() < target;
  }

  // False when there are no looks left.
  bool decide(size_t at) {
    if (at == order_.size()) {
      incumbent_.offer(partial_.plan());
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
    for (DualSum& sum : sums_) sum.add(sign * sum.above(segment, row));
  }

  const Instance& instance_;
  Rows rows_;  // the most promising first
  PartialPlan partial_;
  std::vector<DualSum> sums_;
  std::vector<int> order_;
  Incumbent& incumbent_;
  int64_t* looks_;
};

class PeakSearch {
 public:
  PeakSearch(const Instance& instance, const Rows& rows, int depth,
             int64_t* peak, std::vector<int32_t>* modes, int64_t* looks)
      : instance_(instance),
        rows_(rows),
        partial_(instance, rows, depth),
        peak_(peak),
        modes_(modes),
        looks_(looks) {}

  bool run() { return may_be_better() ? decide(0) : true; }

 private:
  bool may_be_better() {
    const Evaluator& plan = partial_.plan();
    return plan.host() <= instance_.host_bytes && plan.peak() < *peak_;
  }

  bool decide(int i) {
    if (i == instance_.num_segments()) {
      *peak_ = partial_.plan().peak();
      *modes_ = partial_.plan().modes();
      return true;
    }
    bool finished = true;
    for (int32_t row : rows_[size_t(i)]) {
      if (--*looks_ < 0) return false;
      partial_.decide(i, row);
      finished = !may_be_better() || decide(i + 1);
      if (!finished) break;
    }
    partial_.open(i);
    return finished;
  }

  const Instance& instance_;
  const Rows& rows_;
  PartialPlan partial_;
  int64_t* peak_;
  std::vector<int32_t>* modes_;
  int64_t* looks_;
};

}  // namespace

bool branch_and_bound(const Instance& instance, const Rows& rows, int depth,
                      const std::vector<Duals>& pool, Incumbent& incumbent,
                      int64_t* looks) {
  return TimeSearch(instance, rows, depth, pool, incumbent, looks).run();
}

bool branch_on_peak(const Instance& instance, const Rows& rows, int depth,
                    int64_t* peak, std::vector<int32_t>* modes,
                    int64_t* looks) {
  return PeakSearch(instance, rows, depth, peak, modes, looks).run();
}

}  // namespace braid::plan
