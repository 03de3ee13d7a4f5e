#include "braid/plan/solve/solve.h"

#include <gtest/gtest.h>

#include "braid/plan/solve/least_peak.h"
#include "plan/solve/brute_force.h"
#include "plan/solve/instances.h"
#include "thrown.h"

namespace braid::plan {
namespace {

TEST(Solve, EverySolverAnswersWithAPlanThatFitsOrWithWhatIsMissing) {
  Random random(21);
  for (int k = 0; k < long_or_short(200, 30); ++k) {
    RandomInstance form = form_of(k);
    form.least_segments = 1;
    form.most_segments = 12;
    Instance instance = random_instance(random, form);
    for (const Solver& solver : solvers()) {
      SCOPED_TRACE(std::string(solver.name) + " " + std::to_string(k));
      SolveOptions options{.solver = std::string(solver.name), .seed = 5};
      if (solver.name == "certified") options.effort = 60;
      Solution solution = solve(instance, options);
      EXPECT_LE(solution.lower_bound_ns, solution.time_ns());
      if (solution.feasible) {
        ASSERT_EQ(solution.modes.size(), instance.segments.size());
        EXPECT_NE(std::ranges::find(instance.depths, solution.depth),
                  instance.depths.end());
        Timeline timeline = replay(instance, solution.depth, solution.modes);
        EXPECT_TRUE(timeline.fits(instance));
        EXPECT_EQ(timeline.time_ns, solution.time_ns());
      } else if (solution.proved) {
        EXPECT_TRUE(solution.least_peak_bytes < 0 ||
                    solution.least_peak_bound > instance.device_bytes);
      }
      Solution again = solve(instance, options);
      EXPECT_EQ(again.modes, solution.modes);
      EXPECT_EQ(again.depth, solution.depth);
    }
  }
}

TEST(Solve, TheEndsOfWhatCanBeChosen) {
  Random random(22);
  Instance instance = random_instance(random, {});
  instance.device_bytes = kNoLimit;
  Solution on = solve(instance, {.solver = "all-on"});
  Solution off = solve(instance, {.solver = "all-off"});
  ASSERT_TRUE(on.feasible && off.feasible);
  EXPECT_LT(on.peak_bytes(), off.peak_bytes());
  EXPECT_GE(on.time_ns(), off.time_ns());
}

TEST(Solve, RandomDrawsMorePlansWithMoreEffort) {
  Random random(23);
  Instance instance = random_instance(random, {});
  instance.device_bytes = kNoLimit;
  int64_t few = solve(instance, {.solver = "random", .effort = 1}).time_ns();
  int64_t many = solve(instance, {.solver = "random", .effort = 500}).time_ns();
  EXPECT_LE(many, few);
}

TEST(Solve, TheLeastPeakIsThatOfAllPlans) {
  Random random(24);
  for (int k = 0; k < long_or_short(200, 30); ++k) {
    RandomInstance form = form_of(k);
    form.most_segments = 4;
    Instance instance = random_instance(random, form);
    LeastPeak least =
        find_least_peak(instance, undominated_rows(instance), 100);
    BruteForce truth = brute_force(instance);
    ASSERT_EQ(least.is_found, truth.least_peak >= 0) << k;
    if (!least.is_found) continue;
    EXPECT_EQ(least.peak_bytes, truth.least_peak) << k;
    EXPECT_TRUE(least.is_proved());
    auto bytes = slot_bytes(instance, least.depth, least.modes);
    EXPECT_EQ(*std::ranges::max_element(bytes), least.peak_bytes);
  }
}

TEST(Solve, LargeNumbersStayExact) {
  Mode slow{.f = kMostTotal / 4, .b = kMostTotal / 4};
  Mode fast = slow;
  fast.f -= 1;
  slow.res = kMostTotal / 4;
  fast.res = slow.res + 1;
  Instance instance{.device_bytes = 2 * slow.res + 1,
                    .depths = {0, 1},
                    .segments = {{"a", {slow, fast}}, {"b", {slow, fast}}}};
  Solution solution = solve(instance);
  ASSERT_TRUE(solution.feasible);
  EXPECT_TRUE(solution.proved);
  EXPECT_EQ(solution.time_ns(), kMostTotal - 1);
  instance.device_bytes = 2 * slow.res - 1;
  solution = solve(instance);
  EXPECT_FALSE(solution.feasible);
  EXPECT_EQ(solution.least_peak_bytes, 2 * slow.res);
  EXPECT_TRUE(solution.proved);
}

TEST(Solve, AStepOfNothingTakesNoTime) {
  Instance instance{.depths = {0}, .segments = {{"a", {Mode{}}}}};
  for (const Solver& solver : solvers()) {
    Solution s = solve(instance, {.solver = std::string(solver.name)});
    EXPECT_TRUE(s.feasible) << solver.name;
    EXPECT_EQ(s.time_ns(), 0);
    EXPECT_EQ(s.gap(), 0);
  }
}

TEST(Solve, WrongOptionsAreNamed) {
  Instance instance{.depths = {0}, .segments = {{"a", {Mode{}}}}};
  EXPECT_EQ(thrown_by([&] { solve(instance, {.solver = "certifed"}); }),
            "[plan] there is no solver 'certifed'\nHINT: did you mean "
            "'certified'?");
  EXPECT_EQ(thrown_by([&] { solve(instance, {.effort = -1}); }),
            "[plan] expected an effort from 0, got -1");
  instance.depths = {};
  EXPECT_NE(thrown_by([&] { solve(instance); }), "");
}

}  // namespace
}  // namespace braid::plan
