// Members that differ in some layers end as when they are trained alone, in
// any order.
#include "braid/passes/array/partial.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "braid/graph/text.h"
#include "braid/passes/names.h"
#include "braid/train/run/run_checkpoint.h"
#include "passes/model_steps.h"
#include "plan/random_plans.h"
#include "train_runs/partial_runs.h"

namespace braid::train {
namespace {

using Members = std::vector<PartialMember>;

Graph built(const std::string& model) {
  return models::build_model(table(), model, DType::kFloat64);
}

// Seeds, rates and schedules differ in any case.
Members members_of(const std::vector<Graph>& graphs) {
  const char* schedules[] = {"cosine(steps=9,warmup=2)",
                             "step(step_size=2,gamma=0.5)", "constant"};
  Members members;
  for (size_t k = 0; k < graphs.size(); ++k) {
    auto number = static_cast<double>(k);
    members.push_back({graphs[k], static_cast<int64_t>(11 + 5 * k),
                       2e-3 * (1 + number), schedules[k % 3]});
  }
  return members;
}

passes::Optimizer adamw() {
  passes::Optimizer made = passes::make_optimizer("adamw");
  passes::set_option(made, "clip_norm", 0.5);
  passes::set_option(made, "weight_decay", 0.1);
  return made;
}

void expect_as_alone(const Numbers& got, const Numbers& alone,
                     double tolerance = 1e-9) {
  for (const auto& [name, unused] : got) {
    EXPECT_TRUE(alone.contains(name)) << name << " is not the member's";
  }
  for (const auto& [name, expected] : alone) {
    ASSERT_TRUE(got.contains(name)) << name << " is missing";
    EXPECT_LE(error_of(got, alone, name), tolerance) << name;
  }
}

void expect_all_as_alone(const PartialJob& job, const Members& members,
                         double tolerance = 1e-9) {
  PartialRun array(job, members, true);
  for (size_t k = 0; k < members.size(); ++k) {
    SCOPED_TRACE(fmt::format("member {}", k));
    PartialRun alone(job, {members[k]}, false);
    Numbers expected = alone.slots(0);
    expect_as_alone(array.slots(static_cast<int64_t>(k)), expected, tolerance);
    EXPECT_NE(expected["losses"].front(), expected["losses"].back());
  }
}

struct Case {
  const char* name;
  std::function<std::vector<Graph>()> graphs;
};

std::vector<Graph> heads() {
  return {mlp({}), mlp({.widths = {7, 9}, .classes = 5}), mlp({.classes = 4})};
}

const Case kCases[] = {
    {"Heads", heads},
    {"Activation",
     [] {
       return std::vector<Graph>{mlp({}), mlp({.activation = "tanh"}), mlp({})};
     }},
    {"ExtraBlock",
     [] {
       return std::vector<Graph>{conv_net(false), conv_net(true),
                                 conv_net(false)};
     }},
    {"Layers",
     [] {
       std::string model =
           "transformer(batch=2,length=5,vocab=7,width=8,heads=2,dropout=0.2,"
           "layers=";
       return std::vector<Graph>{built(model + "1)"), built(model + "2)")};
     }},
    {"Dropout",
     [] {
       return std::vector<Graph>{mlp({.dropout = 0}), mlp({}),
                                 mlp({.dropout = 0.5})};
     }},
};

class Partial : public testing::TestWithParam<Case> {};

TEST_P(Partial, MembersEndAsAlone) {
  expect_all_as_alone({.optimizer = adamw()}, members_of(GetParam().graphs()));
}

TEST_P(Partial, InAnyOrder) {
  Members members = members_of(GetParam().graphs());
  std::ranges::reverse(members);
  expect_all_as_alone({.optimizer = adamw()}, members);
}

INSTANTIATE_TEST_SUITE_P(Models, Partial, testing::ValuesIn(kCases),
                         [](const auto& at) { return at.param.name; });

TEST(PartialRuns, OfEqualModelsAreArrays) {
  for (const std::string& name : small_models()) {
    Graph one = built(name);
    Graph whole = passes::array(table(), one, {.members = 3});
    Graph joined = passes::array_of(table(), {one, one, one}, {});
    EXPECT_EQ(print_graph(joined), print_graph(whole)) << name;
  }
}

TEST(PartialRuns, KeepAveragesAndGroupsOfTheirOwn) {
  PartialJob job{.optimizer = passes::make_optimizer("nadam")};
  passes::set_option(job.optimizer, "ema_decay", 0.9);
  passes::set_option(job.optimizer, "clip_value", 0.05);
  passes::set_option(job.optimizer, "skip_nonfinite", 1);
  passes::add_group(job.optimizer,
                    {"head.*", {{"lr", 0.02}, {"momentum_decay", 0.01}}});
  expect_all_as_alone(job, members_of(heads()));
}

TEST(PartialRuns, AddUpMicroBatches) {
  expect_all_as_alone({.optimizer = adamw(), .micro_batches = 3},
                      members_of(heads()));
}

TEST(PartialRuns, WorkInLowPrecisionAsAlone) {
  std::vector<Graph> graphs;
  for (int64_t classes : {3, 5}) {
    graphs.push_back(mlp({.classes = classes, .dtype = DType::kFloat32}));
  }
  PartialJob job{.optimizer = adamw()};
  job.precision = DType::kBFloat16;
  expect_all_as_alone(job, members_of(graphs), 2e-2);
}

TEST(PartialRuns, MemoryPlansChangeNoBits) {
  using plan::Activations;
  using plan::Parameters;
  using plan::Update;
  for (bool clip : {true, false}) {
    PartialJob job{.optimizer = passes::make_optimizer("adamw")};
    if (clip) job.optimizer = adamw();
    Members members = members_of({conv_net(true), conv_net(false)});
    PartialRun kept(job, members, true);
    for (Activations a : {Activations::kRecompute, Activations::kOffload}) {
      for (Update u : {Update::kDevice, Update::kHost, Update::kHostFile}) {
        PartialJob spilled = job;
        spilled.decision = {a, Parameters::kSpilled, u};
        if (u == Update::kHostFile) {
          spilled.decision.parameters = Parameters::kFile;
        }
        PartialRun run(spilled, members, true);
        for (int64_t k : {0, 1}) EXPECT_EQ(run.slots(k), kept.slots(k));
      }
    }
  }
}

TEST(PartialRuns, AMemberThatGoesWrongLeavesTheOthers) {
  PartialJob job{.optimizer = adamw()};
  passes::set_option(job.optimizer, "skip_nonfinite", 1);
  Members members = members_of(heads());
  PartialRun healthy(job, members, true);
  job.prepare = [](Trainer& trainer) {
    SlotId slot = trainer.state().find("head.bias", 1);
    std::vector<double> wrong(5, NAN);
    trainer.state().write_member(slot, 1, std::as_bytes(std::span(wrong)));
  };
  PartialRun run(job, members, true);
  for (int64_t k : {0, 2}) EXPECT_EQ(run.slots(k), healthy.slots(k));
  // Its fused weights are skipped as well.
  EXPECT_EQ(run.slots(1)[passes::kUpdateSlot], std::vector<double>{0});
  EXPECT_EQ(run.slots(1)[passes::kStepSlot], std::vector<double>{5});
}

// Contents of a member's slots by its own names, losses aside.
std::map<std::string, std::vector<std::byte>> contents(
    const runtime::State& state, int64_t member) {
  std::map<std::string, std::vector<std::byte>> all;
  for (size_t i = 0; i < state.slots().size(); ++i) {
    const Slot& slot = state.slots()[i];
    if (!slot.belongs_to(member)) continue;
    all[slot.own_name()] = state.read_member(static_cast<SlotId>(i), member);
  }
  return all;
}

// One step in which the third of three members pauses; what all have then.
std::vector<std::map<std::string, std::vector<std::byte>>> pause_one(
    const plan::Decision& decision) {
  std::vector<Graph> graphs{conv_net(true), conv_net(false), conv_net(true)};
  compile::StepSpec spec{.forward = graphs[0],
                         .members = graphs,
                         .optimizer = adamw(),
                         .capacity = 3,
                         .masked = true};
  runtime::CpuBackend backend(kernels(), {});
  runtime::ExecutableOptions options{.spill_dir = plan::spill_dir()};
  options.plan.named = plan::NamedPlan{
      .segments = {{std::string(plan::kOtherSegments), decision}}};
  runtime::Executables programs(table(), {spec}, backend, options);
  runtime::State& state = programs.state();
  state.initialise(std::vector<int64_t>{1, 2, 3});
  SlotId active = state.find(passes::kActiveSlot);
  std::vector<std::byte> pause(sizeof(double));
  state.write_member(active, 2, pause);
  auto paused = contents(state, 2), stepped = contents(state, 0);
  Batches batches(programs.program(0).graph,
                  {.data_seeds = {1, 2, 3}, .as_array = true});
  programs.executor(0).step(
      [&](int64_t micro, ValueId id) { return batches.input(0, micro, id); });
  EXPECT_EQ(contents(state, 2), paused);
  auto now = contents(state, 0);
  for (const char* name : {"extra.weight", "conv1.weight", "extra_bn.bias",
                           "extra_bn.running_mean", "bn1.running_mean"}) {
    EXPECT_NE(now.at(name), stepped.at(name)) << name;
  }
  return {now, contents(state, 1), contents(state, 2)};
}

TEST(PartialRuns, AMemberThatPausesKeepsEverything) {
  auto kept = pause_one({});
  for (plan::Update update : {plan::Update::kDevice, plan::Update::kHostFile}) {
    EXPECT_EQ(pause_one({plan::Activations::kOffload, plan::Parameters::kFile,
                         update}),
              kept);
  }
}

TEST(PartialRuns, GiveStateDictsUnderPlainNames) {
  PartialJob job{.optimizer = adamw()};
  passes::set_option(job.optimizer, "ema_decay", 0.9);
  Members members = members_of(heads());
  PartialRun array(job, members, true);
  auto names = [](const TensorList& list) {
    std::map<std::string, Shape> all;
    for (const io::TensorBytes& t : list.tensors()) all[t.name] = t.shape;
    return all;
  };
  for (int64_t k = 0; k < 3; ++k) {
    PartialRun alone(job, {members[static_cast<size_t>(k)]}, false);
    const runtime::State& many = array.trainer().state();
    const runtime::State& one = alone.trainer().state();
    EXPECT_EQ(names(member_state(many, k)), names(member_state(one, 0)));
    EXPECT_EQ(names(member_average(many, k)), names(member_average(one, 0)));
    EXPECT_EQ(names(checkpoint_files(many, {}, k).at(0).tensors),
              names(checkpoint_files(one, {}).at(0).tensors));
    EXPECT_FALSE(
        std::ranges::equal(member_state(many, k).tensors().back().bytes,
                           member_average(many, k).tensors().back().bytes));
  }
}

TEST(PartialRuns, ASlotOfAnotherMemberIsNotThere) {
  PartialRun array({.optimizer = adamw(), .steps = 0}, members_of(heads()),
                   true);
  runtime::State& state = array.trainer().state();
  SlotId head = state.find("head.weight", 1);
  EXPECT_EQ(state.slots()[static_cast<size_t>(head)].name,
            "member.1/head.weight");
  EXPECT_THROW(state.read_member(head, 0), std::invalid_argument);
  EXPECT_EQ(state.find("head.weight"), kNone);
}

}  // namespace
}  // namespace braid::train
