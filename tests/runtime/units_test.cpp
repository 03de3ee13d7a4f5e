// Programs of different jobs, interleaved unit by unit on one device, give the
// bits that each gives alone.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/executables.h"
#include "kernels.h"
#include "passes/model_steps.h"
#include "passes/text_graphs.h"
#include "plan/random_plans.h"
#include "train/batches.h"

namespace braid::runtime {
namespace {

using Bits = std::map<std::string, std::vector<std::byte>>;

// A job that steps by itself: a model, its data and its memory plan.
class Stepper {
 public:
  Stepper(const std::string& model, const plan::Decision& decision,
          int64_t micro_batches, Backend& backend)
      : programs_(table(), {spec_of(model, micro_batches)}, backend,
                  options_of(model, decision)),
        batches_(programs_.program(0).graph, {}) {
    programs_.state().initialise(std::vector<int64_t>{7});
  }

  void begin() {
    executor().begin_step([this, step = steps_++](int64_t micro, ValueId id) {
      return batches_.input(step, micro, id);
    });
  }
  void step() {
    executor().step([this, step = steps_++](int64_t micro, ValueId id) {
      return batches_.input(step, micro, id);
    });
    note();
  }
  // Begins a step when none is under way.
  void run_unit() {
    if (!executor().is_stepping()) begin();
    executor().run_unit();
    if (!executor().is_stepping()) note();
  }
  int64_t steps_done() const { return std::ssize(losses_); }
  const std::vector<double>& losses() const { return losses_; }
  Executor& executor() { return programs_.executor(0); }

  Bits bits() {
    Bits bits;
    State& state = programs_.state();
    for (size_t i = 0; i < state.slots().size(); ++i) {
      bits[state.slots()[i].name] = state.read(static_cast<SlotId>(i));
    }
    return bits;
  }

 private:
  static compile::StepSpec spec_of(const std::string& model,
                                   int64_t micro_batches) {
    return {.forward = models::build_model(table(), model, DType::kFloat32),
            .optimizer = passes::make_optimizer("adamw"),
            .micro_batches = micro_batches};
  }
  static ExecutableOptions options_of(const std::string& model,
                                      const plan::Decision& decision) {
    Graph forward = models::build_model(table(), model, DType::kFloat32);
    ExecutableOptions options;
    options.plan.plan =
        plan::uniform(compile::segment_names(forward).size(), decision);
    options.spill_dir = plan::spill_dir();
    return options;
  }
  void note() { losses_.push_back(executor().losses()[0]); }

  Executables programs_;
  Batches batches_;
  int64_t steps_ = 0;
  std::vector<double> losses_;
};

constexpr plan::Decision kKept = {};
constexpr plan::Decision kSpilled = {plan::Activations::kOffload,
                                     plan::Parameters::kSpilled,
                                     plan::Update::kHost};
constexpr plan::Decision kRecomputed = {plan::Activations::kRecompute,
                                        plan::Parameters::kSpilled,
                                        plan::Update::kDevice};

constexpr plan::Decision kInFile = {plan::Activations::kOffload,
                                    plan::Parameters::kFile,
                                    plan::Update::kHostFile};

struct Case {
  size_t model;
  plan::Decision decision;
  int64_t micro_batches;
};

std::unique_ptr<Stepper> make(const Case& c, Backend& backend) {
  return std::make_unique<Stepper>(small_models()[c.model], c.decision,
                                   c.micro_batches, backend);
}

constexpr int64_t kSteps = 4;

// Any order of units, drawn by a seed.
void expect_same_interleaved(const std::vector<Case>& cases, uint64_t seed) {
  std::vector<Bits> alone;
  std::vector<std::vector<double>> losses;
  for (const Case& c : cases) {
    CpuBackend backend(kernels(), {});
    auto stepper = make(c, backend);
    for (int64_t i = 0; i < kSteps; ++i) stepper->step();
    alone.push_back(stepper->bits());
    losses.push_back(stepper->losses());
  }
  CpuBackend shared(kernels(), {.index = 1});
  std::vector<std::unique_ptr<Stepper>> steppers;
  for (const Case& c : cases) steppers.push_back(make(c, shared));
  std::mt19937_64 random(seed);
  std::vector<Stepper*> open;
  for (auto& stepper : steppers) open.push_back(stepper.get());
  while (!open.empty()) {
    size_t next = random() % open.size();
    open[next]->run_unit();
    if (open[next]->steps_done() == kSteps) {
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(next));
    }
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(steppers[i]->losses(), losses[i]) << "job " << i;
    EXPECT_TRUE(steppers[i]->bits() == alone[i]) << "job " << i;
  }
}

TEST(Units, OfTwoJobsInterleaveWithoutAChangeOfBits) {
  for (uint64_t seed : {1, 2, 3}) {
    expect_same_interleaved({{0, kKept, 1}, {1, kKept, 1}}, seed);
    expect_same_interleaved({{2, kSpilled, 1}, {3, kSpilled, 2}}, seed);
    expect_same_interleaved({{0, kRecomputed, 3}, {2, kKept, 1}}, seed);
  }
}

TEST(Units, OfFourJobsInterleaveToo) {
  expect_same_interleaved(
      {{0, kSpilled, 1}, {1, kRecomputed, 2}, {2, kSpilled, 2}, {3, kKept, 1}},
      11);
  expect_same_interleaved(
      {{0, kInFile, 1}, {1, kSpilled, 2}, {2, kInFile, 2}, {3, kInFile, 1}},
      12);
}

TEST(Units, ComeOneAfterTheOther) {
  CpuBackend backend(kernels(), {});
  Stepper stepper(small_models()[0], kSpilled, 2, backend);
  EXPECT_THROW(stepper.executor().run_unit(), std::invalid_argument);
  stepper.begin();
  EXPECT_THROW(stepper.begin(), std::invalid_argument);
  const plan::Program& program = stepper.executor().program();
  int64_t units = 0;
  while (stepper.executor().is_stepping()) {
    stepper.executor().run_unit();
    ++units;
  }
  auto micro = static_cast<int64_t>(program.num_micro_units());
  EXPECT_EQ(units, 2 * micro + (std::ssize(program.units) - micro));
}

// One team of threads computes: updates on the host are not made beside it,
// but by the thread that computes, while it has the turn.
TEST(Units, UpdatesOnTheHostAreMadeByTheThreadThatComputes) {
  struct Span {
    std::chrono::steady_clock::time_point begin, end;
  };
  std::vector<Span> turns, updates;
  std::vector<std::thread::id> threads;
  auto seat = std::make_shared<ComputeSeat>(std::make_shared<ComputeTurn>());
  seat->set_watch([&](plan::Stream, auto begin, auto end) {
    turns.push_back({begin, end});
  });
  auto note = [&](plan::Stream stream, auto begin, auto end) {
    if (stream != plan::Stream::kHostUpdate) return;
    updates.push_back({begin, end});
    threads.push_back(std::this_thread::get_id());
  };
  CpuBackend backend(kernels(), {.seat = seat, .watch = note});
  Stepper stepper(small_models()[0], kSpilled, 2, backend);
  stepper.step();
  while (stepper.steps_done() < 2) stepper.run_unit();
  const plan::Program& program = stepper.executor().program();
  int64_t calls =
      std::ranges::count(program.instructions, plan::Stream::kHostUpdate,
                         &plan::Instruction::stream);
  ASSERT_GT(calls, 0);
  EXPECT_EQ(std::ssize(updates), 2 * calls);
  for (std::thread::id id : threads) {
    EXPECT_EQ(id, std::this_thread::get_id());
  }
  for (const Span& update : updates) {
    EXPECT_TRUE(std::ranges::any_of(turns, [&](const Span& turn) {
      return turn.begin <= update.begin && update.end <= turn.end;
    }));
  }
}

}  // namespace
}  // namespace braid::runtime
