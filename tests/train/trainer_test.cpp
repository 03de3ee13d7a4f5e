#include "braid/train/trainer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <span>

#include "braid/passes/names.h"
#include "braid/runtime/cpu_backend.h"
#include "mixing_device.h"
#include "op_table.h"
#include "passes/model_steps.h"
#include "plan/random_plans.h"
#include "thrown.h"
#include "train/batches.h"

namespace braid::train {
namespace {

using Names = std::vector<std::string>;

const std::string& model() { return small_models()[0]; }

Graph forward() {
  return models::build_model(table(), model(), DType::kFloat32);
}

TrainerOptions options(int64_t members = 0) {
  TrainerOptions made{.optimizer = passes::make_optimizer("adamw")};
  made.members = members;
  return made;
}

double number_at(const runtime::State& state, const std::string& slot,
                 int64_t member) {
  auto bytes = state.read_member(state.find(slot), member);
  double value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

void take_step(Trainer& trainer) {
  Batches batches(trainer.graph(), {});
  trainer.step(
      [&](int64_t micro, ValueId id) { return batches.input(0, micro, id); });
}

TEST(Trainer, SegmentsAreNamedInOrder) {
  EXPECT_EQ(compile::segment_names(forward()),
            (Names{"layers.0", "drop.0", "layers.1", "drop.1", "layers.2",
                   "drop.2", "head"}));
}

TEST(Trainer, APlanMustDecideAboutEverySegment) {
  runtime::CpuBackend backend(kernels(), {});
  TrainerOptions wrong = options();
  wrong.plan = plan::keep_all(3);
  EXPECT_EQ(thrown_by<std::invalid_argument>(
                [&] { Trainer(table(), forward(), backend, wrong); }),
            "[plan] the model has 7 segments, the plan 3");
}

TEST(Trainer, HyperParametersAreSetPerMember) {
  runtime::CpuBackend backend(kernels(), {});
  Trainer trainer(table(), forward(), backend, options(3));
  trainer.initialise({1, 2, 3});
  trainer.set_hyper(1, "lr", 0.5);
  trainer.set_hyper(2, "dropout", 0.75);
  auto& state = trainer.state();
  EXPECT_EQ(number_at(state, "hyper/lr", 0), 1e-3);
  EXPECT_EQ(number_at(state, "hyper/lr", 1), 0.5);
  EXPECT_EQ(number_at(state, "hyper/drop.0.p", 1), 0.3);
  EXPECT_EQ(number_at(state, "hyper/drop.0.p", 2), 0.75);
  EXPECT_EQ(number_at(state, "hyper/drop.2.p", 2), 0.75);
  EXPECT_NE(thrown_by<std::invalid_argument>([&] {
              trainer.set_hyper(0, "weight_decai", 1);
            }).find("did you mean 'weight_decay'?"),
            std::string::npos);
  EXPECT_NE(thrown_by<std::invalid_argument>([&] {
              trainer.set_hyper(3, "lr", 1);
            }).find("member 3"),
            std::string::npos);
}

TEST(Trainer, SeedsAreOnePerMember) {
  runtime::CpuBackend backend(kernels(), {});
  Trainer trainer(table(), forward(), backend, options(3));
  EXPECT_THROW(trainer.initialise({1}), std::invalid_argument);
  EXPECT_THROW(trainer.initialise({1, 2, 3, 4}), std::invalid_argument);
}

// Peak of the plan that is chosen without a limit.
int64_t unlimited_peak() {
  runtime::CpuBackend backend(kernels(), {});
  return Trainer(table(), forward(), backend, options()).program().peak_bytes();
}

TEST(Trainer, TakesTheFirstPlanThatFits) {
  int64_t peak = unlimited_peak();
  runtime::CpuBackend exact(kernels(), {.limit_bytes = peak});
  Trainer kept(table(), forward(), exact, options());
  EXPECT_EQ(kept.plan().segments, plan::keep_all(7).segments);
  EXPECT_EQ(exact.account().peak_bytes(), peak);
  runtime::CpuBackend tight(kernels(), {.limit_bytes = peak - 1});
  Trainer saved(table(), forward(), tight, options());
  EXPECT_NE(saved.plan().segments, plan::keep_all(7).segments);
  EXPECT_LT(saved.program().peak_bytes(), peak);
  saved.initialise({1});
  take_step(saved);
  EXPECT_EQ(tight.account().peak_bytes(), saved.program().peak_bytes());
}

TEST(Trainer, ReportsTheLeastThatIsMissing) {
  runtime::CpuBackend tiny(kernels(), {.limit_bytes = 1000});
  std::string report = thrown_by<std::runtime_error>(
      [&] { Trainer(table(), forward(), tiny, options()); });
  EXPECT_NE(report.find("the limit is 1000 bytes"), std::string::npos);
  EXPECT_NE(report.find("bytes short"), std::string::npos);
  EXPECT_EQ(tiny.account().used_bytes(), 0);
  EXPECT_EQ(tiny.host_account().used_bytes(), 0);
}

TEST(Trainer, AForcedPlanThatDoesNotFitIsReported) {
  int64_t peak = unlimited_peak();
  TrainerOptions forced = options();
  forced.plan = plan::keep_all(7);
  runtime::CpuBackend tight(kernels(), {.limit_bytes = peak - 1});
  std::string report = thrown_by<std::runtime_error>(
      [&] { Trainer(table(), forward(), tight, forced); });
  EXPECT_NE(report.find(": 1 bytes short"), std::string::npos) << report;
  EXPECT_EQ(tight.account().used_bytes(), 0);
}

// What another trainer holds is not there for this one.
TEST(Trainer, TwoOnOneDeviceShareItsLimit) {
  int64_t peak = unlimited_peak();
  runtime::CpuBackend backend(kernels(), {.limit_bytes = 2 * peak - 1});
  TrainerOptions forced = options();
  forced.plan = plan::keep_all(7);
  Trainer first(table(), forward(), backend, forced);
  first.initialise({1});
  take_step(first);
  auto before = first.state().read(0);
  std::string report = thrown_by<std::runtime_error>(
      [&] { Trainer(table(), forward(), backend, forced); });
  EXPECT_NE(report.find(": 1 bytes short"), std::string::npos) << report;
  EXPECT_NE(report.find("by layer"), std::string::npos) << report;
  EXPECT_EQ(backend.account().used_bytes(), peak);
  EXPECT_EQ(first.state().read(0), before);
  Trainer second(table(), forward(), backend, options());  // finds a plan
  EXPECT_LT(second.program().peak_bytes(), peak);
}

TEST(Trainer, GivesItsMemoryBack) {
  runtime::CpuBackend backend(kernels(), {});
  {
    TrainerOptions spilled = options();
    spilled.plan =
        plan::uniform(7, {plan::Activations::kOffload,
                          plan::Parameters::kSpilled, plan::Update::kHost});
    Trainer trainer(table(), forward(), backend, spilled);
    EXPECT_GT(backend.host_account().used_bytes(), 0);
  }
  EXPECT_EQ(backend.account().used_bytes(), 0);
  EXPECT_EQ(backend.host_account().used_bytes(), 0);
}

TEST(Trainer, AFailingCopyIsReportedAndTheNextStepRuns) {
  bool broken = true;
  auto before_copy = [&](int64_t) {
    if (broken) throw std::runtime_error("the link is down");
  };
  runtime::CpuBackend backend(kernels(), {.before_copy = before_copy});
  TrainerOptions spilled = options();
  spilled.plan =
      plan::uniform(7, {plan::Activations::kOffload, plan::Parameters::kSpilled,
                        plan::Update::kHost});
  Trainer trainer(table(), forward(), backend, spilled);
  trainer.initialise({1});
  EXPECT_EQ(thrown_by<std::runtime_error>([&] { take_step(trainer); }),
            "the link is down");
  broken = false;
  take_step(trainer);
  SlotId step = trainer.state().find(passes::kStepSlot);
  auto count = trainer.state().read(step);
  EXPECT_EQ(count[0], std::byte{1});
}

TrainerOptions in_file() {
  TrainerOptions made = options();
  made.plan =
      plan::uniform(7, {plan::Activations::kKeep, plan::Parameters::kFile,
                        plan::Update::kHostFile});
  made.spill_dir = plan::spill_dir();
  return made;
}

// Whatever instruction of a step it is that fails.
TEST(Trainer, AFailingDiskIsReported) {
  int left = 1 << 20;
  auto before_disk = [&] {
    if (left-- == 0) throw std::runtime_error("the disk is gone");
  };
  runtime::CpuBackend backend(kernels(), {.before_disk = before_disk});
  Trainer trainer(table(), forward(), backend, in_file());
  trainer.initialise({1});
  take_step(trainer);
  int count = (1 << 20) - left;
  EXPECT_GT(count, 10);
  for (int first : {0, 1, count / 2, count - 1}) {
    left = first;
    EXPECT_EQ(thrown_by<std::runtime_error>([&] { take_step(trainer); }),
              "the disk is gone");
  }
  left = 1 << 20;
  take_step(trainer);
}

TEST(Trainer, APlanWithAFileNeedsAFolder) {
  TrainerOptions made = in_file();
  made.spill_dir.clear();
  runtime::CpuBackend backend(kernels(), {});
  EXPECT_NE(thrown_by<std::invalid_argument>([&] {
              Trainer(table(), forward(), backend, made);
            }).find("[spill] the plan keeps"),
            std::string::npos);
  EXPECT_EQ(backend.account().used_bytes(), 0);
}

TEST(Trainer, NeedsAForwardGraphWithALoss) {
  runtime::CpuBackend backend(kernels(), {});
  Graph none(table());
  none.add_input("x", {DType::kFloat32, {2}});
  EXPECT_NE(thrown_by<std::invalid_argument>([&] {
              Trainer(table(), none, backend, options());
            }).find("no output 'loss'"),
            std::string::npos);
}

TrainerOptions scheduled(std::vector<std::string> texts) {
  TrainerOptions made = options(static_cast<int64_t>(texts.size()));
  for (const std::string& text : texts) {
    made.schedules.push_back(passes::parse_schedule(text));
  }
  return made;
}

TEST(Trainer, EachMemberHasTheRateOfItsOwnStep) {
  runtime::CpuBackend backend(kernels(), {});
  Trainer trainer(table(), forward(), backend,
                  scheduled({"linear(steps=4)", "step(step_size=2)"}));
  trainer.initialise({1, 2});
  trainer.set_hyper(0, "lr", 0.5);
  auto& state = trainer.state();
  int64_t late = 1;
  state.write_member(state.find(passes::kStepSlot), 1,
                     std::as_bytes(std::span(&late, 1)));
  take_step(trainer);
  EXPECT_EQ(number_at(state, "schedule/lr", 0), 0.5);
  EXPECT_EQ(number_at(state, "schedule/lr", 1), 1e-3);
  take_step(trainer);
  EXPECT_EQ(number_at(state, "schedule/lr", 0), 0.375);
  EXPECT_EQ(number_at(state, "schedule/lr", 1), 1e-4);
  EXPECT_EQ(number_at(state, "hyper/lr", 0), 0.5);
  // A new base counts at once, and the schedule goes on.
  trainer.set_hyper(0, "lr", 1);
  take_step(trainer);
  EXPECT_EQ(number_at(state, "schedule/lr", 0), 0.5);
}

TEST(Trainer, ASchedulesLengthMustBeKnown) {
  runtime::CpuBackend backend(kernels(), {});
  TrainerOptions made = options();
  for (const char* text : {"cosine", "constant(warmup=5%)"}) {
    made.schedules = {passes::parse_schedule(text)};
    std::string problem =
        thrown_by([&] { Trainer(table(), forward(), backend, made); });
    EXPECT_NE(problem.find("depends on the length of a run"), problem.npos);
  }
  made.schedules[0] = passes::for_length(made.schedules[0], 100);
  Trainer trainer(table(), forward(), backend, made);
}

TEST(Trainer, GroupsHaveScheduledRates) {
  runtime::CpuBackend backend(kernels(), {});
  TrainerOptions made = options();
  made.schedules = {passes::parse_schedule("linear(steps=4)")};
  passes::add_group(made.optimizer, {"*.bias", {{"lr", 0.5}}});
  Trainer trainer(table(), forward(), backend, made);
  trainer.initialise({1});
  take_step(trainer);
  take_step(trainer);
  EXPECT_EQ(number_at(trainer.state(), "schedule/lr", 0), 1e-3 * 0.75);
  EXPECT_EQ(number_at(trainer.state(), "schedule/lr:*.bias", 0), 0.375);
}

TEST(Trainer, WithoutSchedulesThereIsNothingOfThem) {
  runtime::CpuBackend backend(kernels(), {});
  Trainer trainer(table(), forward(), backend, options(2));
  trainer.initialise({1, 2});
  EXPECT_EQ(trainer.state().find("schedule/lr"), kNone);
  int64_t version = trainer.state().version();
  take_step(trainer);
  EXPECT_EQ(trainer.state().version(), version);
}

TEST(Trainer, SchedulesAreOnePerMember) {
  runtime::CpuBackend backend(kernels(), {});
  TrainerOptions made = scheduled({"constant", "constant"});
  made.members = 3;
  EXPECT_EQ(thrown_by<std::invalid_argument>(
                [&] { Trainer(table(), forward(), backend, made); }),
            "[schedule] expected 3 schedules, got 2");
}

}  // namespace
}  // namespace braid::train
