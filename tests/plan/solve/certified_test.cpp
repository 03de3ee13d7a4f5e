#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "braid/plan/solve/relaxation.h"
#include "braid/plan/solve/rows.h"
#include "braid/plan/solve/search.h"
#include "braid/plan/solve/solve.h"
#include "plan/solve/bound_checker.h"
#include "plan/solve/brute_force.h"
#include "plan/solve/instances.h"

namespace braid::plan {
namespace {

// That every number of a solution is what it says.
void check_claims(const Instance& instance, const Solution& solution) {
  ASSERT_TRUE(solution.feasible);
  Timeline timeline = replay(instance, solution.depth, solution.modes);
  EXPECT_EQ(solution.time_ns(), timeline.time_ns);
  EXPECT_EQ(solution.peak_bytes(), timeline.peak_bytes);
  EXPECT_TRUE(timeline.fits(instance));
  EXPECT_LE(solution.lower_bound_ns, solution.time_ns());
  EXPECT_EQ(solution.proved, solution.lower_bound_ns == solution.time_ns());
  int64_t least = solution.time_ns();
  ASSERT_EQ(solution.bounds.size(), instance.depths.size());
  for (const DepthBound& bound : solution.bounds) {
    BoundChecker checker(instance, bound.depth);
    if (checker.rows().empty()) {
      EXPECT_EQ(bound.floor_ns, kNoLimit);
      continue;
    }
    EXPECT_LT(bound.floor_ns, kNoLimit);
    int64_t own = bound.floor_ns;
    if (!bound.duals.prices.empty()) {
      double checked = checker.bound(bound.duals);
      EXPECT_LE(static_cast<double>(bound.dual_ns),
                std::max(std::ceil(checked), 0.0));
      own = std::max(own, bound.dual_ns);
    }
    if (bound.searched) own = solution.time_ns();
    least = std::min(least, own);
  }
  EXPECT_EQ(solution.lower_bound_ns, least);
}

void compare_with_brute_force(const Instance& instance, int k) {
  SCOPED_TRACE(k);
  Solution solution = solve(instance);
  BruteForce truth = brute_force(instance);
  ASSERT_EQ(solution.feasible, truth.feasible);
  EXPECT_TRUE(solution.proved);
  if (truth.feasible) {
    EXPECT_EQ(solution.time_ns(), truth.time);
    check_claims(instance, solution);
  } else {
    EXPECT_EQ(solution.least_peak_bytes, truth.least_peak);
    EXPECT_EQ(solution.least_peak_bound, truth.least_peak);
  }
}

TEST(Certified, EqualsBruteForce) {
  Random random(11);
  for (int k = 0; k < long_or_short(1000, 120); ++k) {
    RandomInstance form = form_of(k);
    if (!std::getenv("BRAID_TEST_LONG") && k % 10 > 0) form.most_segments = 4;
    compare_with_brute_force(random_instance(random, form), k);
    if (HasFatalFailure()) return;
  }
}

TEST(Certified, ProvesPlansOfSevenSegments) {
  Random random(12);
  for (int k = 0; k < long_or_short(200, 20); ++k) {
    RandomInstance form = form_of(k);
    form.least_segments = 6;
    form.most_segments = 7;
    Instance instance = random_instance(random, form);
    Solution solution = solve(instance);
    EXPECT_TRUE(solution.proved) << k;
    if (solution.feasible) check_claims(instance, solution);
  }
}

TEST(Certified, ManySegmentsHaveABoundThatOthersCanCheck) {
  Random random(13);
  for (int k = 0; k < long_or_short(60, 6); ++k) {
    RandomInstance form = form_of(k);
    form.least_segments = form.most_segments = 30;
    form.depths = {0, 1, 2, 3, 5, 8, 12, 16};
    Instance instance = random_instance(random, form);
    Solution solution = solve(instance, {.effort = 100});
    if (!solution.feasible) continue;
    check_claims(instance, solution);
    for (const char* other : {"dp", "greedy", "random", "all-on", "all-off"}) {
      Solution made = solve(instance, {.solver = other});
      if (!made.feasible) continue;
      EXPECT_GE(made.time_ns(), solution.lower_bound_ns) << other;
    }
  }
}

TEST(Certified, GivesTheSameAnswerAgain) {
  Random random(14);
  RandomInstance form{.least_segments = 20, .most_segments = 20};
  Instance instance = random_instance(random, form);
  Solution first = solve(instance, {.effort = 60, .seed = 3});
  Solution again = solve(instance, {.effort = 60, .seed = 3});
  EXPECT_EQ(first.modes, again.modes);
  EXPECT_EQ(first.depth, again.depth);
  EXPECT_EQ(first.lower_bound_ns, again.lower_bound_ns);
  EXPECT_EQ(first.ns_per_byte, again.ns_per_byte);
}

TEST(Certified, StopsAtOnceWhenTheFastestRowsFit) {
  Random random(15);
  Instance instance = random_instance(random, {});
  for (SegmentModes& segment : instance.segments) {
    segment.modes.resize(1);
  }
  instance.device_bytes = kNoLimit;
  Solution solution = solve(instance);
  EXPECT_TRUE(solution.proved);
  for (const DepthBound& bound : solution.bounds) {
    EXPECT_TRUE(bound.duals.prices.empty());
  }
}

TEST(Certified, SaysWhatIsMissing) {
  Mode mode{.name = "only", .f = 5, .b = 5};
  mode.res = 100;
  mode.host = 7;
  Instance instance{.device_bytes = 150,
                    .depths = {1, 2},
                    .segments = {{"a", {mode}}, {"b", {mode}}}};
  Solution solution = solve(instance);
  EXPECT_FALSE(solution.feasible);
  EXPECT_TRUE(solution.proved);
  EXPECT_EQ(solution.least_peak_bytes, 200);
  EXPECT_EQ(solution.least_peak_bound, 200);
  for (const Solver& solver : solvers()) {
    solution = solve(instance, {.solver = std::string(solver.name)});
    EXPECT_FALSE(solution.feasible) << solver.name;
    EXPECT_EQ(solution.least_peak_bytes, 200) << solver.name;
  }
  instance.host_bytes = 13;
  solution = solve(instance);
  EXPECT_FALSE(solution.feasible);
  EXPECT_TRUE(solution.proved);
  EXPECT_EQ(solution.least_peak_bytes, -1);
  EXPECT_EQ(solution.least_host_bytes, 14);
}

TEST(Certified, PricesAreWorthWhatMoreBytesSave) {
  Random random(16);
  RandomInstance form{.least_segments = 30, .most_segments = 30, .equal = true};
  Instance instance = random_instance(random, form);
  Solution solution = solve(instance);
  ASSERT_TRUE(solution.feasible);
  double shares = 0;
  for (double share : solution.stream_shares) shares += share;
  EXPECT_NEAR(shares, 1, 1e-9);
  // The bound with another limit is at least what the prices say.
  int64_t less = instance.device_bytes / 20;
  Instance tighter = instance;
  tighter.device_bytes -= less;
  Solution with_less = solve(tighter);
  if (!with_less.feasible) return;
  double expected = static_cast<double>(solution.lower_bound_ns);
  EXPECT_GE(static_cast<double>(with_less.time_ns()), expected * 0.999);
}

TEST(Rows, ThoseThatAnotherBeatsGo) {
  Mode base{.name = "a", .f = 5, .b = 5};
  Mode slower = base, smaller = base, dependent = base;
  slower.b = 6;
  smaller.f = 9;
  base.res = slower.res = dependent.res = 10;
  dependent.dep = true;
  Instance instance{
      .depths = {0},
      .segments = {{"s", {slower, base, smaller, base, dependent}}}};
  EXPECT_EQ(undominated_rows(instance), (Rows{{1, 2}}));
}

TEST(Rows, LeavingThemOutChangesNoAnswer) {
  Random random(17);
  for (int k = 0; k < 40; ++k) {
    RandomInstance form = form_of(k);
    form.most_segments = 3;
    Instance instance = random_instance(random, form), fewer = instance;
    Rows rows = undominated_rows(instance);
    for (size_t i = 0; i < rows.size(); ++i) {
      fewer.segments[i].modes.clear();
      for (int32_t row : rows[i]) {
        fewer.segments[i].modes.push_back(
            instance.segments[i].modes[size_t(row)]);
      }
    }
    BruteForce all = brute_force(instance), some = brute_force(fewer);
    EXPECT_EQ(all.feasible, some.feasible);
    EXPECT_EQ(all.time, some.time);
    EXPECT_EQ(all.least_peak, some.least_peak);
  }
}

TEST(Rounding, GivesEachRowItsShareEverywhere) {
  Rows rows(30, {0, 2});
  std::vector<std::vector<double>> third(30, {2.0 / 3, 1.0 / 3});
  std::vector<int32_t> modes = round_fractions(rows, third);
  for (size_t i = 0; i + 3 <= modes.size(); i += 3) {
    std::multiset<int32_t> three(modes.begin() + ptrdiff_t(i),
                                 modes.begin() + ptrdiff_t(i) + 3);
    EXPECT_EQ(three, (std::multiset<int32_t>{0, 0, 2}));
  }
}

}  // namespace
}  // namespace braid::plan
