// Several programs on one state, on a device that mixes bits.
#include "braid/runtime/executables.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "braid/passes/rewrite/eval_form.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/train/job/phase_graph.h"
#include "braid/train/trainer.h"
#include "mixing_device.h"
#include "passes/model_steps.h"
#include "passes/text_graphs.h"
#include "train/batches.h"

namespace braid::train {
namespace {

using compile::StepSpec;
using passes::graph_of;
using runtime::Executables;
using Bits = std::map<std::string, std::vector<std::byte>>;

Graph forward(int64_t rows) {
  return models::build_model(
      table(), "mlp(features=40,hidden=90,layers=3,classes=3,dropout=0.3)",
      DType::kFloat32, {{"batch", static_cast<double>(rows)}});
}

Graph normed(int64_t rows) {
  return models::build_model(
      table(), "resblock(channels=4,side=6,blocks=2,classes=3)",
      DType::kFloat32, {{"batch", static_cast<double>(rows)}});
}

StepSpec learner(Graph graph, int64_t micro_batches = 1) {
  return {.forward = std::move(graph),
          .optimizer = passes::make_optimizer("adamw"),
          .micro_batches = micro_batches};
}

StepSpec evaluator(const Graph& graph) {
  return {.forward = passes::eval_form(table(), graph)};
}

Bits bits_of(const runtime::State& state) {
  Bits bits;
  for (size_t i = 0; i < state.slots().size(); ++i) {
    if (state.slots()[i].role == Role::kGradient) continue;
    bits[state.slots()[i].name] = state.read(static_cast<SlotId>(i));
  }
  return bits;
}

void take_step(runtime::Executor& executor, int64_t step) {
  Batches batches(executor.program().graph, {});
  executor.step([&](int64_t micro, ValueId id) {
    return batches.input(step, micro, id);
  });
}

// What runs leave: the losses' bits of every step, and the state.
struct Result {
  std::vector<std::vector<std::byte>> losses;
  Bits state;
  bool operator==(const Result&) const = default;
};

// Takes the programs in turns.
Result run(Executables& programs, int64_t steps) {
  Result result;
  programs.state().initialise(std::vector<int64_t>{5});
  for (int64_t step = 0; step < steps; ++step) {
    auto& executor =
        programs.executor(static_cast<size_t>(step) % programs.size());
    take_step(executor, step);
    result.losses.push_back(executor.output("loss"));
  }
  result.state = bits_of(programs.state());
  return result;
}

void copy_state(const runtime::State& from, runtime::State& to) {
  for (size_t i = 0; i < to.slots().size(); ++i) {
    to.write(static_cast<SlotId>(i), from.read(from.find(to.slots()[i].name)));
  }
}

// The same by trainers of their own, whose states are copied along.
Result run_apart(const std::vector<Graph>& graphs, int64_t steps) {
  runtime::CpuBackend backend(kernels(), {});
  std::vector<std::unique_ptr<Trainer>> trainers;
  TrainerOptions options{.optimizer = passes::make_optimizer("adamw")};
  for (const Graph& graph : graphs) {
    trainers.push_back(
        std::make_unique<Trainer>(table(), graph, backend, options));
    trainers.back()->initialise({5});
  }
  Result result;
  Trainer* last = trainers[0].get();
  for (int64_t step = 0; step < steps; ++step) {
    Trainer* next = trainers[static_cast<size_t>(step) % graphs.size()].get();
    if (next != last) copy_state(last->state(), next->state());
    take_step(next->executor(), step);
    result.losses.push_back(next->executor().output("loss"));
    last = next;
  }
  result.state = bits_of(last->state());
  return result;
}

TEST(Executables, TwoBatchSizesTrainOneState) {
  for (auto* graph : {forward, normed}) {
    runtime::CpuBackend backend(kernels(), {});
    Executables programs(table(), {learner(graph(4)), learner(graph(3))},
                         backend, {});
    EXPECT_TRUE(run(programs, 6) == run_apart({graph(4), graph(3)}, 6));
  }
}

TEST(Executables, EvaluationLeavesTheStateAlone) {
  runtime::CpuBackend backend(kernels(), {});
  Graph graph = normed(4);
  Executables programs(table(), {learner(graph), evaluator(graph)}, backend,
                       {});
  programs.state().initialise(std::vector<int64_t>{5});
  take_step(programs.executor(0), 0);
  Bits before = bits_of(programs.state());
  take_step(programs.executor(1), 1);
  EXPECT_TRUE(bits_of(programs.state()) == before);
  auto is_statistic = [](const auto& slot) {
    return slot.first.ends_with("running_mean");
  };
  EXPECT_TRUE(std::ranges::any_of(before, is_statistic));
}

TEST(Executables, TheyTakeTurnsInTheLargestArena) {
  runtime::CpuBackend backend(kernels(), {});
  Graph small = forward(2), large = forward(9);
  Executables programs(
      table(), {learner(small), learner(large), evaluator(large)}, backend, {});
  int64_t largest = 0;
  for (size_t i = 0; i < programs.size(); ++i) {
    largest = std::max(largest, programs.program(i).arena_bytes);
  }
  EXPECT_GT(programs.program(1).arena_bytes, programs.program(0).arena_bytes);
  EXPECT_EQ(programs.peak_bytes(),
            largest + programs.program(0).device_slot_bytes());
  EXPECT_EQ(backend.account().used_bytes(), programs.peak_bytes());
  run(programs, 3);
  EXPECT_EQ(backend.account().peak_bytes(), programs.peak_bytes());
}

// Programs of a job: full and short batches, both evaluated too.
std::vector<StepSpec> job_sources(Graph (*graph)(int64_t)) {
  return {learner(graph(8), 2), learner(graph(5)), evaluator(graph(8)),
          evaluator(graph(3))};
}

// The least limit, in steps of 4 %, that a plan is found for.
int64_t least_limit(const std::vector<StepSpec>& sources, int64_t peak) {
  int64_t least = peak;
  for (int percent = 96; percent > 0; percent -= 4) {
    int64_t limit = peak * percent / 100;
    runtime::CpuBackend backend(kernels(), {.limit_bytes = limit});
    try {
      Executables(table(), sources, backend, {});
    } catch (const std::runtime_error&) {
      break;
    }
    least = limit;
  }
  return least;
}

void expect_same_in_less(const std::vector<StepSpec>& sources, int64_t steps) {
  runtime::CpuBackend roomy(kernels(), {});
  Executables unlimited(table(), sources, roomy, {});
  Result expected = run(unlimited, steps);
  int64_t limit = least_limit(sources, unlimited.peak_bytes());
  ASSERT_LT(limit, unlimited.peak_bytes() * 9 / 10);
  runtime::CpuBackend tight(kernels(), {.limit_bytes = limit});
  Executables limited(table(), sources, tight, {});
  EXPECT_TRUE(run(limited, steps) == expected);
  EXPECT_EQ(tight.account().peak_bytes(), limited.peak_bytes());
  EXPECT_LE(tight.account().peak_bytes(), limit);
  EXPECT_GT(tight.host_account().used_bytes(), 0);
  EXPECT_NE(limited.plan().segments, unlimited.plan().segments);
}

TEST(Executables, ALimitThatNeedsSpillingChangesNoBit) {
  expect_same_in_less(job_sources(forward), 12);
  expect_same_in_less(job_sources(normed), 12);
}

// Every rung of the ladder, for all programs alike.
TEST(Executables, EveryUniformPlanChangesNoBit) {
  auto sources = job_sources(normed);
  runtime::CpuBackend roomy(kernels(), {});
  Executables unlimited(table(), sources, roomy, {});
  Result expected = run(unlimited, 8);
  size_t segments = compile::segment_names(sources[0].forward).size();
  for (auto activations :
       {plan::Activations::kRecompute, plan::Activations::kOffload}) {
    for (auto parameters :
         {plan::Parameters::kResident, plan::Parameters::kSpilled}) {
      for (auto update : {plan::Update::kDevice, plan::Update::kHost}) {
        runtime::CpuBackend backend(kernels(), {});
        runtime::ExecutableOptions options;
        options.plan.plan =
            plan::uniform(segments, {activations, parameters, update}, 1);
        Executables programs(table(), sources, backend, options);
        EXPECT_TRUE(run(programs, 8) == expected)
            << static_cast<int>(activations) << static_cast<int>(parameters)
            << static_cast<int>(update);
        EXPECT_EQ(backend.account().peak_bytes(), programs.peak_bytes());
      }
    }
  }
}

TEST(Executables, ALimitThatNothingFitsIsReported) {
  runtime::CpuBackend tiny(kernels(), {.limit_bytes = 1000});
  try {
    Executables(table(), job_sources(forward), tiny, {});
    FAIL() << "fits 1000 bytes";
  } catch (const std::runtime_error& error) {
    std::string report = error.what();
    EXPECT_NE(report.find("bytes short"), std::string::npos) << report;
  }
  EXPECT_EQ(tiny.account().used_bytes(), 0);
  EXPECT_EQ(tiny.host_account().used_bytes(), 0);
}

TEST(Executables, ALimitIsMissedByWhatTheReportSays) {
  auto sources = job_sources(forward);
  runtime::CpuBackend roomy(kernels(), {});
  int64_t peak = Executables(table(), sources, roomy, {}).peak_bytes();
  runtime::CpuBackend tight(kernels(), {.limit_bytes = peak - 7});
  runtime::ExecutableOptions fixed;
  fixed.plan.fit_to_limit = false;
  try {
    Executables(table(), sources, tight, fixed);
    FAIL() << "fits";
  } catch (const std::runtime_error& error) {
    std::string report = error.what();
    EXPECT_NE(report.find(": 7 bytes short"), std::string::npos) << report;
    std::string sums = fmt::format("needs {} bytes", peak);
    EXPECT_NE(report.find(sums), std::string::npos) << report;
    sums = fmt::format("the limit is {} bytes", peak - 7);
    EXPECT_NE(report.find(sums), std::string::npos) << report;
  }
}

TEST(Executables, TheyMustAgreeAboutSlots) {
  runtime::CpuBackend backend(kernels(), {});
  Graph other = models::build_model(
      table(), "mlp(features=41,hidden=90,layers=3,classes=3)",
      DType::kFloat32);
  try {
    Executables(table(), {learner(forward(4)), learner(other)}, backend, {});
    FAIL() << "took two models";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(
        std::string(error.what()).find("'layers.0.weight' is f32[90, 40]"),
        std::string::npos)
        << error.what();
  }
}

// Two phases of a game between f and g, as f32 layers with buffers.
Graph layer(const std::map<std::string, ValueType>&) {
  return graph_of(R"(
    slot "w" f32[64, 64] parameter uniform(-1.0, 1.0)
    slot "sum" f32[64] buffer constant(0.0)
    input %0 "x" f32[8, 64]
    %1: f32[64, 64] = read "w" @"fc"
    %2: f32[8, 64] = linear(%0, %1, _) @"fc"
    %3: f32[8, 64] = tanh(%2) @"act"
    %4: f32[64] = read "sum" @"act"
    %5: f32[64] = mean(%3) {dims=[0], keep_dims=false} @"act"
    %6: f32[64] = add(%4, %5) @"act"
    assign "sum" (%6) @"act"
    output "output" %3
  )");
}

StepSpec phase(const std::string& learns, const std::string& loss) {
  PhaseNetworks networks;
  for (const char* name : {"f", "g"}) {
    networks[name] = {.names = {"x"}, .build = layer};
  }
  Graph graph = build_phase_graph(table(), parse_expression(loss), networks,
                                  {{"x", {DType::kFloat32, {8, 64}}}});
  for (size_t i = 0; i < graph.slots().size(); ++i) {
    Slot& slot = graph.slot(static_cast<SlotId>(i));
    slot.trainable = slot.name.starts_with(learns + ".");
  }
  StepSpec source = learner(std::move(graph));
  source.optimizer.scope = learns;
  return source;
}

std::vector<StepSpec> game() {
  return {phase("f", "mean(f(x)) - mean(f(detach(g(x))))"),
          phase("g", "-mean(f(g(x)))")};
}

TEST(Executables, PhasesShareTheirNetworks) {
  runtime::CpuBackend backend(kernels(), {});
  Executables programs(table(), game(), backend, {});
  programs.state().initialise(std::vector<int64_t>{5});
  Bits before = bits_of(programs.state());
  take_step(programs.executor(0), 0);
  Bits middle = bits_of(programs.state());
  EXPECT_TRUE(middle.at("f.w") != before.at("f.w"));
  EXPECT_TRUE(middle.at("g.w") == before.at("g.w"));
  take_step(programs.executor(1), 1);
  Bits after = bits_of(programs.state());
  EXPECT_TRUE(after.at("f.w") == middle.at("f.w"));
  EXPECT_TRUE(after.at("g.w") != middle.at("g.w"));
  EXPECT_TRUE(after.at("f.sum") != middle.at("f.sum"));
}

TEST(Executables, ALimitOverPhasesChangesNoBit) {
  expect_same_in_less(game(), 8);
}

}  // namespace
}  // namespace braid::train
