// Which jobs are trained together, by costs that are plain formulas.
#include "braid/train/array/grouping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "braid/base/rng.h"

namespace braid::train {
namespace {

using Sizes = std::vector<int64_t>;

// Costs as those of small models: much is spent on each call.
ArrayCosts costs_with(int64_t limit_bytes, double call_s = 1,
                      double member_s = 0.01) {
  return {.step_s =
              [=](const ArraySize& size) {
                return call_s + member_s * static_cast<double>(size.members);
              },
          .bytes = [](const ArraySize& size) { return size.members; },
          .limit_bytes = limit_bytes};
}

CostsOf same_costs(ArrayCosts costs) {
  return [costs](size_t) { return costs; };
}

std::vector<GroupingJob> equal_jobs(size_t count) {
  return std::vector<GroupingJob>(count, {"a", "x"});
}

Sizes sizes_of(const std::vector<ArrayPlan>& plans) {
  Sizes sizes;
  for (const ArrayPlan& plan : plans) sizes.push_back(plan.size.members);
  return sizes;
}

Sizes sizes_for(size_t jobs, const ArrayCosts& costs,
                const plan::Profile& profile = {}) {
  return sizes_of(group_jobs(equal_jobs(jobs), same_costs(costs), profile));
}

TEST(EvenSizes, DifferByOneAtMost) {
  EXPECT_EQ(even_sizes(24, 3), (Sizes{8, 8, 8}));
  EXPECT_EQ(even_sizes(25, 3), (Sizes{9, 8, 8}));
  EXPECT_EQ(even_sizes(2, 2), (Sizes{1, 1}));
}

TEST(Grouping, AllThatFitIsOneArray) {
  EXPECT_EQ(sizes_for(16, costs_with(16)), (Sizes{16}));
}

TEST(Grouping, LeavesNoSmallRemainder) {
  EXPECT_EQ(sizes_for(24, costs_with(10)), (Sizes{8, 8, 8}));
  EXPECT_EQ(sizes_for(17, costs_with(16)), (Sizes{9, 8}));
}

// Here members cost more where they are more than a cache holds.
TEST(Grouping, ChoosesByPredictedTime) {
  ArrayCosts costs = costs_with(100);
  costs.step_s = [](const ArraySize& size) {  // slow beyond 4: out of cache
    auto members = static_cast<double>(size.members);
    return 1 + (members > 4 ? members : 0.1 * members);
  };
  EXPECT_EQ(sizes_for(16, costs), (Sizes{4, 4, 4, 4}));
}

TEST(Grouping, WhatDoesNotFitAloneIsAlone) {
  auto plans = group_jobs(equal_jobs(3), same_costs(costs_with(0)));
  EXPECT_EQ(sizes_of(plans), (Sizes{1, 1, 1}));
  for (const ArrayPlan& plan : plans) EXPECT_FALSE(plan.fits);
}

std::vector<ArrayPlan> spread_over(int devices, size_t jobs,
                                   const ArrayCosts& costs) {
  return group_jobs(equal_jobs(jobs), same_costs(costs), {}, devices);
}

TEST(Grouping, EveryDeviceGetsItsPart) {
  ArrayCosts costs = costs_with(1000, 1, 0.5);
  EXPECT_EQ(sizes_of(spread_over(1, 64, costs)), (Sizes{64}));
  EXPECT_EQ(sizes_of(spread_over(2, 64, costs)), (Sizes{32, 32}));
  EXPECT_EQ(sizes_of(spread_over(4, 64, costs)), (Sizes{16, 16, 16, 16}));
  EXPECT_EQ(sizes_of(spread_over(3, 2, costs)), (Sizes{1, 1}));
}

// What is spent on each call costs more than a second device is worth.
TEST(Grouping, ArraysThatCostNothingMoreStayWhole) {
  EXPECT_EQ(sizes_of(spread_over(2, 8, costs_with(1000, 1, 0.001))),
            (Sizes{8}));
}

// One long job takes as long as all the others: they go together.
TEST(Grouping, OtherGroupsHaveDevicesToo) {
  std::vector<GroupingJob> jobs = equal_jobs(8);
  jobs.push_back({"long", "x"});
  ArrayCosts small = costs_with(1000, 1, 0.5);
  ArrayCosts large = costs_with(1000, 5, 0);
  auto costs = [&](size_t job) { return job == 8 ? large : small; };
  EXPECT_EQ(sizes_of(group_jobs(jobs, costs, {}, 2)), (Sizes{8, 1}));
  large = costs_with(1000, 0.1, 0);
  EXPECT_EQ(sizes_of(group_jobs(jobs, costs, {}, 2)), (Sizes{4, 4, 1}));
}

TEST(Grouping, SmallerArraysOfALimitAreSpreadToo) {
  for (const ArrayPlan& plan : spread_over(4, 24, costs_with(10, 1, 0.5))) {
    EXPECT_LE(plan.size.members, 10);
    EXPECT_LE(plan.bytes, 10);
  }
  EXPECT_EQ(sizes_of(spread_over(4, 24, costs_with(10, 1, 0.5))),
            (Sizes{6, 6, 6, 6}));
}

TEST(Grouping, KeepsTheOrderOfTheList) {
  std::vector<GroupingJob> jobs;
  for (const char* signature : {"a", "b", "a", "c", "b", "a"}) {
    jobs.push_back({signature, ""});
  }
  auto plans = group_jobs(jobs, same_costs(costs_with(2)));
  std::vector<std::vector<size_t>> numbers;
  for (const ArrayPlan& plan : plans) numbers.push_back(plan.jobs);
  EXPECT_EQ(numbers,
            (std::vector<std::vector<size_t>>{{0, 2}, {5}, {1, 4}, {3}}));
}

TEST(Grouping, MembersOfEqualDataShareThem) {
  std::vector<GroupingJob> jobs = {
      {"a", "x"}, {"a", "x"}, {"a", "x"}, {"a", "y"}};
  auto plans = group_jobs(jobs, same_costs(costs_with(2)));
  ASSERT_EQ(sizes_of(plans), (Sizes{2, 2}));
  EXPECT_TRUE(plans[0].size.shared_data);
  EXPECT_FALSE(plans[1].size.shared_data);
}

// Costs of a group are asked of its first job, and only where there is a
// choice.
TEST(Grouping, AsksForCostsOncePerGroup) {
  std::vector<size_t> asked;
  std::vector<GroupingJob> jobs = {{"a", ""}, {"b", ""}, {"c", ""}, {"b", ""}};
  group_jobs(jobs, [&](size_t job) {
    asked.push_back(job);
    return costs_with(9);
  });
  EXPECT_EQ(asked, std::vector<size_t>{1});
}

// Bytes take long to know: sizes are asked once, best first.
TEST(Grouping, AsksForBytesAsRarelyAsItCan) {
  ArrayCosts costs = costs_with(10);
  Sizes asked;
  costs.bytes = [&](const ArraySize& size) {
    asked.push_back(size.members);
    return size.members;
  };
  EXPECT_EQ(sizes_for(24, costs), (Sizes{8, 8, 8}));
  EXPECT_EQ(asked, (Sizes{24, 12, 8}));
}

TEST(Grouping, AProfileMovesTheChoice) {
  ArrayCosts costs = costs_with(100);
  plan::Profile profile;
  ASSERT_EQ(sizes_for(16, costs, profile), (Sizes{16}));
  profile.set(plan::Measured::kArray, step_key("a", {16, true}), 40);
  profile.set(plan::Measured::kArray, step_key("a", {8, true}), 2);
  EXPECT_EQ(sizes_for(16, costs, profile), (Sizes{8, 8}));
  auto plans = group_jobs(equal_jobs(16), same_costs(costs), profile);
  EXPECT_TRUE(plans[0].is_measured);
  EXPECT_EQ(plans[0].step_s, 2);
  EXPECT_EQ(plans[0].bytes, 8);
}

// One slow measurement says that the machine is slow, not that size.
TEST(Grouping, OneMeasurementCorrectsAllSizes) {
  plan::Profile profile;
  profile.set(plan::Measured::kArray, step_key("a", {16, true}), 500);
  EXPECT_EQ(sizes_for(16, costs_with(100), profile), (Sizes{16}));
}

TEST(Grouping, ProfilesOfOthersDoNotCount) {
  plan::Profile profile;
  profile.set(plan::Measured::kArray, step_key("b", {16, true}), 500);
  profile.set(plan::Measured::kArray, step_key("a", {16, false}), 500);
  profile.set(plan::Measured::kArray, step_key("b", {8, true}), 0.1);
  auto plans = group_jobs(equal_jobs(16), same_costs(costs_with(100)), profile);
  EXPECT_EQ(sizes_of(plans), (Sizes{16}));
  EXPECT_FALSE(plans[0].is_measured);
}

// Random lists: every job once, limits kept, sizes even within a group, and
// the same again from the same input.
TEST(Grouping, KeepsItsPromisesForAnyList) {
  ElementRandom random(3, "grouping");
  uint64_t draws = 0;
  auto below = [&](double n) {
    return static_cast<int64_t>(n * random.uniform(draws++));
  };
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<GroupingJob> jobs;
    for (int64_t i = below(60); i >= 0; --i) {
      jobs.push_back({std::string(1, static_cast<char>('a' + below(3))),
                      std::string(1, static_cast<char>('x' + below(2)))});
    }
    int64_t limit = 1 + below(20);
    plan::Profile profile;
    for (int64_t i = below(4); i > 0; --i) {
      profile.set(plan::Measured::kArray,
                  step_key("a", {1 + below(16), below(2) == 0}),
                  random.uniform(draws++));
    }
    CostsOf costs = same_costs(costs_with(limit));
    auto plans = group_jobs(jobs, costs, profile);
    EXPECT_EQ(group_jobs(jobs, costs, profile), plans);
    std::set<size_t> seen;
    std::map<std::string, std::set<int64_t>> sizes;
    for (const ArrayPlan& plan : plans) {
      EXPECT_LE(plan.size.members, limit);
      EXPECT_EQ(static_cast<size_t>(plan.size.members), plan.jobs.size());
      EXPECT_TRUE(std::ranges::is_sorted(plan.jobs));
      for (size_t job : plan.jobs) {
        EXPECT_TRUE(seen.insert(job).second);
        EXPECT_EQ(jobs[job].signature, jobs[plan.jobs[0]].signature);
      }
      sizes[jobs[plan.jobs[0]].signature].insert(plan.size.members);
    }
    EXPECT_EQ(seen.size(), jobs.size());
    for (const auto& [signature, of_group] : sizes) {
      EXPECT_LE(*of_group.rbegin() - *of_group.begin(), 1);
    }
  }
}

TEST(Grouping, KeysOfProfilesAreStable) {
  EXPECT_EQ(step_key("a", {8, true}),
            "array step af63dc4c8601ec8c members=8 shared");
  EXPECT_EQ(step_key("", {1, false}), "array step cbf29ce484222325 members=1");
}

}  // namespace
}  // namespace braid::train
