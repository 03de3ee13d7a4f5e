// Memory techniques change no numbers and keep their promise: random plans on
// real kernels end bitwise as the run without a plan, take exactly the bytes
// that were predicted, and refuse a limit that is one byte too small.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/kernels/aten/torch_bytes.h"
#include "braid/train/trainer.h"
#include "kernels.h"
#include "op_table.h"
#include "passes/model_steps.h"
#include "plan/random_plans.h"
#include "train/batches.h"

namespace braid::train {
namespace {

using plan::below;
using plan::Random;

constexpr int kPlans = 50;
constexpr int64_t kSteps = 3;

// What a run leaves: losses of every step and the whole state.
struct Result {
  std::vector<std::vector<double>> losses;
  std::map<std::string, std::vector<std::byte>> slots;
};

// A wait before each copy: a base of 20 us times x0.01 to x30.
class RandomDelay {
 public:
  explicit RandomDelay(uint64_t seed) : random_(seed) {}
  void operator()(int64_t) {
    std::unique_lock lock(mutex_);
    double factor = plan::random_factor(random_, 0.01, 30);
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::duration<double>(20e-6 * factor));
  }

 private:
  std::mutex mutex_;
  Random random_;
};

class PlansOnModels : public testing::TestWithParam<std::string> {
 protected:
  Graph forward() const {
    return models::build_model(table(), GetParam(), DType::kFloat32);
  }
  size_t segments() const { return compile::segment_names(forward()).size(); }

  static TrainerOptions options(int64_t members = 0, int64_t micro = 1,
                                int variant = 0) {
    TrainerOptions made{.optimizer = optimizer(variant)};
    made.spill_dir = plan::spill_dir();
    made.members = members;
    made.micro_batches = micro;
    return made;
  }

  static constexpr int kVariants = 6;
  // AdamW, SGD with momentum, AdamW with averages, and three that wait for the
  // norm: it is above the limit always, now and then, and of NaN.
  static passes::Optimizer optimizer(int variant) {
    const char* kinds[kVariants] = {"adamw", "sgd",   "adamw",
                                    "adamw", "adamw", "nadam"};
    passes::Optimizer made = passes::make_optimizer(kinds[variant]);
    auto set = [&](const char* name, double value) {
      passes::set_option(made, name, value);
    };
    if (variant == 1) set("momentum", 0.9);
    if (variant == 1 || variant == 3) set("clip_norm", 0.01);
    if (variant == 2 || variant == 3) set("ema_decay", 0.9);
    if (variant == 4) set("clip_norm", 2);
    if (variant >= 4) set("skip_nonfinite", 1);
    if (variant == 5) set("loss_scale", 256);
    return made;
  }

  static void initialise(Trainer& trainer) {
    std::vector<int64_t> seeds{7};
    while (static_cast<int64_t>(seeds.size()) < trainer.members()) {
      seeds.push_back(seeds.back() + 1);
    }
    trainer.initialise(seeds);
  }

  static Result run_steps(Trainer& trainer, int64_t steps = kSteps) {
    Batches batches(trainer.graph(),
                    {.data_seeds = {1, 2}, .as_array = trainer.members() > 0});
    Result result;
    for (int64_t step = 0; step < steps; ++step) {
      trainer.step([&](int64_t micro, ValueId id) {
        return batches.input(step, micro, id);
      });
      result.losses.push_back(trainer.losses());
    }
    for (size_t i = 0; i < trainer.state().slots().size(); ++i) {
      const Slot& slot = trainer.state().slots()[i];
      if (slot.role == Role::kGradient) continue;  // of micro-batches
      result.slots[slot.name] = trainer.state().read(static_cast<SlotId>(i));
    }
    return result;
  }

  // Runs a plan; the accounts must hold exactly what was predicted.
  Result run(TrainerOptions made, const plan::Plan& plan,
             runtime::CpuOptions device = {}) const {
    made.plan = plan;
    runtime::CpuBackend backend(kernels(), std::move(device));
    Trainer trainer(table(), forward(), backend, made);
    initialise(trainer);
    Result result = run_steps(trainer);
    EXPECT_EQ(backend.account().peak_bytes(), trainer.program().peak_bytes());
    EXPECT_EQ(backend.host_account().peak_bytes(),
              trainer.program().host_bytes());
    return result;
  }

  void expect_equal(const Result& a, const Result& b) const {
    EXPECT_EQ(a.losses, b.losses);
    ASSERT_EQ(a.slots.size(), b.slots.size());
    for (const auto& [name, content] : a.slots) {
      EXPECT_TRUE(content == b.slots.at(name)) << name << " differs";
    }
  }
};

TEST_P(PlansOnModels, RandomPlansEndBitwiseAsTheUnplannedRun) {
  Random random(101);
  std::map<std::array<int64_t, 3>, Result> unplanned;
  for (int i = 0; i < kPlans; ++i) {
    int64_t members = i % 5 == 3 ? 2 : 0, micro = 1 + i / kVariants % 3;
    int variant = i % kVariants;
    TrainerOptions made = options(members, micro, variant);
    plan::Plan plan = plan::random_plan(random, segments(), 4);
    SCOPED_TRACE(fmt::format(
        "plan {}, {} members, {} micro-batches, {}, {}", i, members, micro,
        plan::optimizer_text(made.optimizer), plan::plan_text(plan)));
    Result& expected = unplanned[{members, micro, variant}];
    if (expected.slots.empty()) {
      expected = run(made, plan::keep_all(segments()));
    }
    auto delay = std::make_shared<RandomDelay>(random());
    runtime::CpuOptions device;
    if (i % 3 == 0) {
      device.before_copy = [delay](int64_t b) { (*delay)(b); };
      device.before_disk = [delay] { (*delay)(0); };
    }
    expect_equal(run(made, plan, std::move(device)), expected);
    if (HasFailure()) break;
  }
}

// Default sizes on two threads.
TEST_P(PlansOnModels, LargeModelsEndBitwiseAsUnplanned) {
  Random random(104);
  int plans = std::getenv("BRAID_TEST_LONG") ? 20 : 1;
  Graph large =
      models::build_model(table(), model_name(GetParam()), DType::kFloat32);
  TrainerOptions made = options();
  made.threads = 2;
  std::vector<Result> results;
  for (int i = 0; i <= plans; ++i) {
    made.plan = i == 0 ? plan::keep_all(compile::segment_names(large).size())
                       : plan::random_plan(
                             random, compile::segment_names(large).size(), 4);
    runtime::CpuBackend backend(kernels(), {});
    Trainer trainer(table(), large, backend, made);
    initialise(trainer);
    results.push_back(run_steps(trainer));
    expect_equal(results[static_cast<size_t>(i)], results[0]);
  }
}

TEST_P(PlansOnModels, RunsAtALimitEqualToItsPeak) {
  Random random(102);
  for (int i = 0; i < 3; ++i) {
    plan::Plan plan = plan::random_plan(random, segments(), 4);
    TrainerOptions made = options();
    made.plan = plan;
    runtime::CpuBackend unlimited(kernels(), {});
    int64_t peak =
        Trainer(table(), forward(), unlimited, made).program().peak_bytes();
    runtime::CpuBackend exact(kernels(), {.limit_bytes = peak});
    Trainer trainer(table(), forward(), exact, made);
    initialise(trainer);
    run_steps(trainer);
    EXPECT_EQ(exact.account().peak_bytes(), peak);
  }
}

TEST_P(PlansOnModels, ALimitOneByteBelowThePeakIsReported) {
  Random random(103);
  for (int i = 0; i < 3; ++i) {
    TrainerOptions made = options();
    made.plan = plan::random_plan(random, segments(), 4);
    runtime::CpuBackend unlimited(kernels(), {});
    int64_t peak =
        Trainer(table(), forward(), unlimited, made).program().peak_bytes();
    runtime::CpuBackend tight(kernels(), {.limit_bytes = peak - 1});
    try {
      Trainer trainer(table(), forward(), tight, made);
      FAIL() << "passed its limit";
    } catch (const std::runtime_error& error) {
      std::string report = error.what();
      EXPECT_NE(report.find(fmt::format("needs {} bytes", peak)),
                std::string::npos);
      EXPECT_NE(report.find(": 1 bytes short"), std::string::npos);
      EXPECT_NE(report.find("by layer:"), std::string::npos);
    }
    EXPECT_EQ(tight.account().used_bytes(), 0);
    EXPECT_EQ(tight.host_account().used_bytes(), 0);
  }
}

// A second trainer that does not fit beside the first leaves it as it was.
TEST_P(PlansOnModels, ARefusedTrainerLeavesAnotherIntact) {
  TrainerOptions made = options();
  made.plan = plan::keep_all(segments());
  Result expected = run(made, made.plan);
  runtime::CpuBackend unlimited(kernels(), {});
  int64_t peak =
      Trainer(table(), forward(), unlimited, made).program().peak_bytes();
  runtime::CpuBackend shared(kernels(), {.limit_bytes = 2 * peak - 1});
  Trainer first(table(), forward(), shared, made);
  initialise(first);
  EXPECT_THROW(Trainer(table(), forward(), shared, made), std::runtime_error);
  EXPECT_EQ(shared.account().used_bytes(), peak);
  expect_equal(run_steps(first), expected);
}

// What kernels need beside their operands is planned too.
TEST_P(PlansOnModels, KernelsTakeNoMemoryBesideThePlan) {
  runtime::count_torch_cpu_bytes();
  for (auto activations :
       {plan::Activations::kKeep, plan::Activations::kRecompute}) {
    TrainerOptions made = options();
    made.optimizer = optimizer(3);
    plan::Decision away = {.activations = activations};
    if (activations == plan::Activations::kRecompute) {
      away.update = plan::Update::kHost;
    }
    made.plan = plan::uniform(segments(), away);
    runtime::CpuBackend backend(kernels(), {});
    Trainer trainer(table(), forward(), backend, made);
    initialise(trainer);
    run_steps(trainer, 1);
    int64_t before = runtime::torch_cpu_bytes();
    runtime::reset_torch_cpu_peak();
    run_steps(trainer);
    EXPECT_EQ(runtime::torch_cpu_peak_bytes(), before);
  }
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  return model_name(info.param);
}

// Models as people use them, at small sizes: every decision forced on all
// segments, and random plans.
class PlansOnZoo : public PlansOnModels {
 protected:
  static std::vector<plan::Decision> forced() {
    std::vector<plan::Decision> all;
    for (int i = 1; i < 3; ++i) {
      all.push_back({.activations = static_cast<plan::Activations>(i)});
      all.push_back({.parameters = static_cast<plan::Parameters>(i)});
    }
    for (int i = 1; i < 4; ++i) {
      all.push_back({.update = static_cast<plan::Update>(i)});
    }
    return all;
  }
};

TEST_P(PlansOnZoo, EveryDecisionEndsBitwiseAsTheUnplannedRun) {
  bool is_long = std::getenv("BRAID_TEST_LONG") != nullptr;
  Random random(105);
  std::vector<plan::Plan> plans;
  for (const plan::Decision& d : forced()) {
    bool taken = is_long || below(random, 3) == 0;
    if (taken) plans.push_back(plan::uniform(segments(), d, below(random, 3)));
  }
  for (int i = 0; i < (is_long ? kPlans : 2); ++i) {
    plans.push_back(plan::random_plan(random, segments(), 4));
  }
  TrainerOptions made = options(0, 1, 3);
  Result expected = run(made, plan::keep_all(segments()));
  for (const plan::Plan& plan : plans) {
    SCOPED_TRACE(plan::plan_text(plan));
    expect_equal(run(made, plan), expected);
    if (HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, PlansOnZoo,
    testing::Values(
        "lstm_lm(batch=3,length=5,vocab=11,width=8,hidden=8,tied=1)",
        "resnet18(batch=3,side=40,width=4,classes=5)",
        "mobilenet_v3_large(batch=2,side=24,classes=5)",
        "vit(batch=3,side=24,patch=8,width=12,heads=3,layers=2,classes=5)",
        "pointnet_cls(batch=4,points=13,width=4,classes=5)",
        "bert(batch=2,length=7,positions=9,vocab=13,token_types=3,width=8,"
        "heads=2,"
        "layers=2)",
        "gpt2(batch=2,length=7,positions=9,vocab=13,width=8,heads=2,layers=3)"),
    name_of);

INSTANTIATE_TEST_SUITE_P(Models, PlansOnModels,
                         testing::ValuesIn(small_models()), name_of);

}  // namespace
}  // namespace braid::train
