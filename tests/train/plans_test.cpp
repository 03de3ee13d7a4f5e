// Whole steps under random plans on a device that mixes bits: every slot and
// every loss must end as without a plan.
#include <gtest/gtest.h>

#include <cstdlib>

#include "braid/runtime/cpu_backend.h"
#include "braid/train/trainer.h"
#include "mixing_device.h"
#include "op_table.h"
#include "passes/model_steps.h"
#include "plan/random_plans.h"
#include "train/batches.h"

namespace braid::train {
namespace {

using plan::below;
using plan::Random;

struct Result {
  std::map<std::string, std::vector<std::byte>> slots;
  std::vector<std::byte> loss;
  bool operator==(const Result&) const = default;
};

class MixedPlans : public testing::TestWithParam<std::string> {
 protected:
  Graph forward() const {
    return models::build_model(table(), GetParam(), DType::kFloat32);
  }

  TrainerOptions random_options(Random& random) const {
    TrainerOptions options;
    options.optimizer = plan::random_optimizer(random);
    options.members = below(random, 2) * 2;
    options.micro_batches = 1 + below(random, 2);
    options.fit_to_limit = false;
    options.spill_dir = plan::spill_dir();
    return options;
  }

  Result run(TrainerOptions options, const plan::Plan& plan,
             std::function<void(int64_t)> before_copy = {}) const {
    options.plan = plan;
    runtime::CpuOptions device{.before_copy = before_copy};
    if (before_copy) device.before_disk = [&] { before_copy(150); };
    runtime::CpuBackend backend(kernels(), device);
    Trainer trainer(table(), forward(), backend, options);
    bool array = options.members > 0;
    trainer.initialise(array ? std::vector<int64_t>{5, 6}
                             : std::vector<int64_t>{5});
    Batches batches(trainer.graph(), {.data_seeds = {1, 2}, .as_array = array});
    for (int64_t step = 0; step < 2; ++step) {
      trainer.step([&](int64_t micro, ValueId id) {
        return batches.input(step, micro, id);
      });
    }
    EXPECT_EQ(backend.account().peak_bytes(), trainer.program().peak_bytes());
    EXPECT_EQ(backend.host_account().peak_bytes(),
              trainer.program().host_bytes());
    Result result{{}, trainer.executor().output("loss")};
    for (size_t i = 0; i < trainer.state().slots().size(); ++i) {
      const Slot& slot = trainer.state().slots()[i];
      if (slot.role == Role::kGradient) continue;  // of micro-batches
      result.slots[slot.name] = trainer.state().read(static_cast<SlotId>(i));
    }
    return result;
  }
};

TEST_P(MixedPlans, EndAsTheUnplannedRun) {
  Random random(41);
  size_t segments = compile::segment_names(forward()).size();
  int rounds = std::getenv("BRAID_TEST_LONG") ? 60 : 3;
  for (int round = 0; round < rounds; ++round) {
    TrainerOptions options = random_options(random);
    Result expected = run(options, plan::keep_all(segments));
    for (int i = 0; i < 4; ++i) {
      plan::Plan plan = plan::random_plan(random, segments, 5);
      ASSERT_EQ(run(options, plan), expected)
          << plan::optimizer_text(options.optimizer) << " "
          << plan::plan_text(plan);
    }
  }
}

TEST_P(MixedPlans, EndTheSameWhenCopiesTakeTheirTime) {
  Random random(42);
  size_t segments = compile::segment_names(forward()).size();
  for (int round = 0; round < 3; ++round) {
    TrainerOptions options = random_options(random);
    Result expected = run(options, plan::keep_all(segments));
    plan::Plan plan = plan::random_plan(random, segments, 5);
    auto slow = [](int64_t bytes) {
      std::this_thread::sleep_for(std::chrono::microseconds(bytes % 300));
    };
    ASSERT_EQ(run(options, plan, slow), expected) << plan::plan_text(plan);
  }
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  return model_name(info.param);
}
INSTANTIATE_TEST_SUITE_P(Models, MixedPlans, testing::ValuesIn(small_models()),
                         name_of);

}  // namespace
}  // namespace braid::train
