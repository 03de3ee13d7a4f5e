// Arrays of real jobs: what they take is known before they are made.
#include "braid/train/array/array_plans.h"

#include "braid/train/array/array.h"
#include "braid/train/array/array_costs.h"
#include "braid/train/job/job_signature.h"
#include "small_job.h"

namespace braid::train {
namespace {

class ArrayPlansTest : public SmallJobs {
 protected:
  static constexpr const char* kModel =
      "model: mlp(hidden=20,dropout=0.1)\nepochs: 1\n";

  std::vector<NamedJob> jobs(size_t count,
                             const std::vector<std::string>& overrides = {}) {
    std::vector<NamedJob> jobs;
    for (size_t i = 0; i < count; ++i) {
      std::vector<std::string> all = overrides;
      all.push_back(fmt::format("seed={}", i));
      jobs.push_back({fmt::format("job-{}", i), config(kModel, all)});
    }
    return jobs;
  }

  // What an array really takes.
  static int64_t bytes_of(const Job& job, int64_t members, bool shared) {
    auto backend = machine().open({}, {});
    Array array({&job}, *backend,
                {.form = {.capacity = members, .shares_batches = shared}});
    EXPECT_EQ(backend->account().used_bytes(), array.programs().peak_bytes());
    return array.programs().peak_bytes();
  }

  static std::vector<int64_t> sizes_of(const ArrayPlans& plans) {
    std::vector<int64_t> sizes;
    for (const ArrayPlan& plan : plans.arrays) {
      sizes.push_back(plan.size.members);
    }
    return sizes;
  }
};

using Sizes = std::vector<int64_t>;

TEST_F(ArrayPlansTest, BytesAreThoseThatAnArrayTakes) {
  Job job(machine(), config(kModel));
  auto backend = machine().open({}, {});
  ArrayCosts costs = array_costs(job, *backend);
  for (bool shared : {false, true}) {
    for (int64_t members : {1, 2, 5}) {
      EXPECT_EQ(costs.bytes({members, shared}), bytes_of(job, members, shared))
          << members << shared;
    }
  }
  EXPECT_EQ(backend->account().used_bytes(), 0) << "something was allocated";
}

TEST_F(ArrayPlansTest, StepsOfManyAreCheaperThanManySteps) {
  Job job(machine(), config(kModel));
  auto backend = machine().open({}, {});
  ArrayCosts costs = array_costs(job, *backend);
  EXPECT_GT(costs.step_s({1, false}), 0);
  EXPECT_GT(costs.step_s({8, false}), costs.step_s({1, false}));
  EXPECT_LT(costs.step_s({8, false}), 8 * costs.step_s({1, false}));
}

TEST_F(ArrayPlansTest, JobsOfOneShapeAreOneArray) {
  ArrayPlans plans = plan_arrays(machine(), jobs(6));
  EXPECT_EQ(sizes_of(plans), Sizes{6});
  EXPECT_FALSE(plans.arrays[0].size.shared_data);
  plans = plan_arrays(machine(), jobs(6, {"data.order_seed=1"}));
  EXPECT_TRUE(plans.arrays[0].size.shared_data);
}

TEST_F(ArrayPlansTest, TheLimitIsKept) {
  Job job(machine(), config(kModel));
  int64_t limit = bytes_of(job, 3, false) + 64;
  ASSERT_LT(limit, bytes_of(job, 4, false));
  ArrayPlans plans =
      plan_arrays(machine(), jobs(7, {fmt::format("memory_limit={}", limit)}));
  EXPECT_EQ(sizes_of(plans), (Sizes{3, 2, 2}));
  EXPECT_EQ(plans.arrays[0].bytes, bytes_of(job, 3, false));
}

TEST_F(ArrayPlansTest, WhatDoesNotFitIsLeftToThoseWhoTrainItAlone) {
  ArrayPlans plans = plan_arrays(machine(), jobs(2, {"memory_limit=100"}));
  EXPECT_EQ(sizes_of(plans), (Sizes{1, 1}));
  EXPECT_FALSE(plans.arrays[0].fits);
}

TEST_F(ArrayPlansTest, OtherShapesAreOtherArrays) {
  std::vector<NamedJob> list = jobs(2);
  for (NamedJob& job : jobs(2, {"batch_size=4"})) list.push_back(job);
  list.push_back(list[0]);
  ArrayPlans plans = plan_arrays(machine(), list);
  ASSERT_EQ(sizes_of(plans), (Sizes{3, 2}));
  EXPECT_EQ(plans.arrays[0].jobs, (std::vector<size_t>{0, 1, 4}));
}

TEST_F(ArrayPlansTest, AProfileOfTheseJobsCounts) {
  std::vector<NamedJob> list = jobs(4);
  ArrayPlans plans = plan_arrays(machine(), list);
  ASSERT_EQ(sizes_of(plans), Sizes{4});
  plan::Profile profile;
  profile.set(plan::Measured::kArray,
              step_key(plans.jobs[0].signature, {4, false}), 9);
  profile.set(plan::Measured::kArray,
              step_key(plans.jobs[0].signature, {2, false}), 1);
  EXPECT_EQ(sizes_of(plan_arrays(machine(), list, {.profile = profile})),
            (Sizes{2, 2}));
}

TEST_F(ArrayPlansTest, ErrorsNameTheJob) {
  std::vector<NamedJob> list = jobs(2);
  list.push_back({"odd", config("model: lenet\nepochs: 1\n")});
  std::string text = io::error_of<std::invalid_argument>(
      [&] { plan_arrays(machine(), list); });
  EXPECT_NE(text.find(" (job 'odd')"), text.npos) << text;
}

}  // namespace
}  // namespace braid::train
