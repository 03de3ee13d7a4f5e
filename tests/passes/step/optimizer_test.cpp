#include "braid/passes/step/optimizer.h"

#include <gtest/gtest.h>

#include "braid/passes/names.h"
#include "braid/passes/step/accumulate.h"
#include "passes/text_graphs.h"
#include "thrown.h"

namespace braid::passes {
namespace {

// A model of `members` with a parameter that gets no gradient.
StepGraph micro_part(int64_t members = 0) {
  std::string count = members > 0 ? fmt::format("members={}", members) : "";
  std::string lead = members > 0 ? fmt::format("{}, ", members) : "";
  Graph graph = graph_of(fmt::format(R"(
    slot "a" f32[3] parameter constant(1.0) {0}
    slot "b" f32[3] parameter constant(1.0) {0}
    slot "idle" f32[3] parameter constant(1.0) {0}
    %0: f32[{1}3] = read "a" @"first" segment=1
    %1: f32[{1}3] = read "b" @"second" segment=2
    %2: f32[{1}3] = mul(%0, %1) @"second" segment=2
    %3: f32[] = sum(%2) {{dims=[{2}], keep_dims=false}} @"second" segment=2
    output "loss" %3
  )",
                                     count, lead, members > 0 ? "0, 1" : "0"));
  return accumulate(table(), differentiate(table(), std::move(graph)), 1);
}

StepGraph step_of(const Optimizer& optimizer, int64_t members = 0) {
  StepGraph step = add_optimizer(table(), micro_part(members), optimizer);
  verify(step.graph);
  return step;
}

Optimizer with(std::string kind,
               std::initializer_list<std::pair<const char*, double>> options) {
  Optimizer optimizer = make_optimizer(std::move(kind));
  for (auto [name, value] : options) set_option(optimizer, name, value);
  return optimizer;
}

std::string problem_of(const std::string& kind, const std::string& option) {
  return thrown_by([&] {
    Optimizer optimizer = make_optimizer(kind);
    set_option(optimizer, option, 1);
  });
}

TEST(OptimizerPass, UnknownNamesNameTheNearest) {
  EXPECT_EQ(problem_of("sdg", "lr"),
            "[optimizer] unknown kind 'sdg'\nHINT: did you mean 'sgd'?");
  EXPECT_EQ(problem_of("adamw", "weightdecay"),
            "[optimizer] adamw has no value 'weightdecay'\n"
            "HINT: did you mean 'weight_decay'?");
  EXPECT_NE(problem_of("sgd", "clipnorm").find("'clip_norm'"),
            std::string::npos);
  EXPECT_NE(problem_of("adamw", "nesterov"), "");
  EXPECT_EQ(problem_of("sgd", "nesterov"), "");
  EXPECT_EQ(problem_of("sgd", "momentum"), "");
}

TEST(OptimizerPass, DefaultsAreThoseOfPyTorch) {
  Optimizer adamw = make_optimizer("adamw"), sgd = make_optimizer("sgd");
  EXPECT_EQ(adamw.hyper.at("lr"), 1e-3);
  EXPECT_EQ(adamw.hyper.at("beta1"), 0.9);
  EXPECT_EQ(adamw.hyper.at("beta2"), 0.999);
  EXPECT_EQ(adamw.hyper.at("eps"), 1e-8);
  EXPECT_EQ(adamw.hyper.at("weight_decay"), 0.01);
  EXPECT_EQ(sgd.hyper.at("lr"), 1e-3);
  EXPECT_EQ(sgd.hyper.at("momentum"), 0);
  EXPECT_EQ(sgd.hyper.at("weight_decay"), 0);
  EXPECT_FALSE(adamw.clip || adamw.skip_nonfinite || sgd.has("nesterov"));
}

TEST(OptimizerPass, OptionsReachTheNodesAndSlots) {
  StepGraph step = step_of(with("sgd", {{"nesterov", 1}, {"lr", 0.5}}));
  EXPECT_TRUE(node_of(step.graph, "sgd_update").attrs.flag("nesterov"));
  EXPECT_EQ(slot_of(step.graph, "hyper/lr").init, Init::constant(0.5));
}

TEST(OptimizerPass, SlotsAreOnePerMember) {
  StepGraph step = step_of(make_optimizer("adamw"), 5);
  for (const char* name : {"hyper/lr", "hyper/beta1", "hyper/eps",
                           "counter/step", "counter/update"}) {
    const Slot& slot = slot_of(step.graph, name);
    EXPECT_EQ(slot.members, 5) << name;
    EXPECT_EQ(slot.shape, Shape{}) << name;
  }
  const Slot& moment = slot_of(step.graph, "optimizer/exp_avg_sq/a");
  EXPECT_EQ(moment.role, Role::kOptimizer);
  EXPECT_EQ(moment.stored_shape(), (Shape{5, 3}));
  EXPECT_EQ(node_of(step.graph, "adamw_update").attrs.integer("members"), 5);
}

TEST(OptimizerPass, ParametersWithoutAGradientStayAsTheyAre) {
  StepGraph step = step_of(make_optimizer("adamw"));
  EXPECT_EQ(count_op(step.graph, "adamw_update"), 2);
  EXPECT_EQ(step.graph.find_slot("optimizer/exp_avg/idle"), kNone);
  SlotId idle = step.graph.find_slot("idle");
  for (const Node& node : step.graph.nodes()) EXPECT_NE(node.slot, idle);
}

TEST(OptimizerPass, ClipAndSkipAreThereOnlyWhenAsked) {
  StepGraph plain = step_of(make_optimizer("adamw"));
  EXPECT_EQ(count_op(plain.graph, "sum_squares"), 0);
  EXPECT_EQ(count_op(plain.graph, "clip_scale"), 0);
  EXPECT_EQ(count_op(plain.graph, "is_finite"), 0);
  EXPECT_EQ(plain.graph.find_slot("hyper/clip_norm"), kNone);
  StepGraph clip = step_of(with("adamw", {{"clip_norm", 2}}));
  EXPECT_EQ(count_op(clip.graph, "sum_squares"), 2);
  EXPECT_EQ(count_op(clip.graph, "clip_scale"), 1);
  EXPECT_EQ(count_op(clip.graph, "is_finite"), 0);
  EXPECT_EQ(slot_of(clip.graph, "hyper/clip_norm").init, Init::constant(2));
  StepGraph skip = step_of(with("sgd", {{"skip_nonfinite", 1}}));
  EXPECT_EQ(count_op(skip.graph, "clip_scale"), 0);
  EXPECT_EQ(count_op(skip.graph, "is_finite"), 1);
}

// Inputs 10 and 11 of adamw_update are the scale and whether to keep.
TEST(OptimizerPass, EveryUpdateLooksAtTheGuards) {
  StepGraph step =
      step_of(with("adamw", {{"clip_norm", 2}, {"skip_nonfinite", 1}}));
  ValueId scale = node_of(step.graph, "clip_scale").outputs[0];
  ValueId keep = node_of(step.graph, "keeps").outputs[0];
  EXPECT_EQ(node_of(step.graph, "keeps").inputs.at(0),
            node_of(step.graph, "is_finite").outputs[0]);
  for (int i = 0; i < 2; ++i) {
    const Node& update = node_of(step.graph, "adamw_update", i);
    EXPECT_EQ(update.inputs.at(10), scale);
    EXPECT_EQ(update.inputs.at(11), keep);
  }
  EXPECT_LT(id_of(step.graph, node_of(step.graph, "keeps")),
            id_of(step.graph, node_of(step.graph, "adamw_update")));
}

// A skipped member's step goes on, its count of updates does not.
TEST(OptimizerPass, CountersAdvance) {
  StepGraph step = step_of(with("sgd", {{"skip_nonfinite", 1}}));
  const Graph& graph = step.graph;
  ASSERT_EQ(count_op(graph, "advance"), 2);
  for (const Node& assign : graph.nodes()) {
    if (assign.op->name != "assign") continue;
    const Node& made = graph.node(graph.value(assign.inputs[0]).producer);
    if (made.op->name != "advance") continue;
    bool is_update = graph.slot(assign.slot).name == kUpdateSlot;
    EXPECT_EQ(made.inputs.at(1) != kNone, is_update);
  }
}

TEST(OptimizerPass, UpdatesBelongToTheSegmentOfTheirGradient) {
  StepGraph step = step_of(make_optimizer("sgd"));
  for (int i = 0; i < 2; ++i) {
    const Node& update = node_of(step.graph, "sgd_update", i);
    const Node& maker =
        step.graph.node(step.graph.value(update.inputs[1]).producer);
    EXPECT_EQ(update.segment, maker.segment);
    EXPECT_EQ(update.path, maker.path);
    EXPECT_EQ(update.phase, Phase::kUpdate);
  }
  EXPECT_EQ(node_of(step.graph, "advance").segment, kNone);
}

TEST(OptimizerPass, UsesTheStepCounterThatDropoutReads) {
  StepGraph step = micro_part();
  SlotId counter = step.graph.add_slot({.name = kStepSlot,
                                        .dtype = DType::kInt64,
                                        .shape = {},
                                        .role = Role::kCounter});
  step = add_optimizer(table(), std::move(step), make_optimizer("sgd"));
  EXPECT_EQ(step.graph.find_slot(kStepSlot), counter);
}

TEST(OptimizerPass, NeedsSomethingToTrain) {
  StepGraph nothing = micro_part();
  nothing.gradients.clear();
  EXPECT_THROW(
      add_optimizer(table(), std::move(nothing), make_optimizer("sgd")),
      std::invalid_argument);
}

TEST(OptimizerPass, GroupsHaveValuesOfTheirOwn) {
  Optimizer optimizer = make_optimizer("sgd");
  add_group(optimizer, {"a", {{"lr", 0.5}}});
  add_group(optimizer, {"*", {{"momentum", 0.9}}});
  EXPECT_TRUE(optimizer.has("momentum"));
  StepGraph step = step_of(optimizer);
  EXPECT_EQ(slot_of(step.graph, "hyper/lr:a").init, Init::constant(0.5));
  EXPECT_EQ(slot_of(step.graph, "hyper/momentum:*").init, Init::constant(0.9));
}

TEST(OptimizerPass, GroupsThatCannotBeAreRefused) {
  auto problem = [](const ParameterGroup& group) -> std::string {
    return thrown_by([&] {
      Optimizer optimizer = with("sgd", {{"clip_norm", 1}, {"ema_decay", 0.5}});
      add_group(optimizer, group);
      step_of(optimizer);
    });
  };
  EXPECT_EQ(problem({"a", {{"lr", 1}}}), "");
  EXPECT_EQ(problem({"idel", {{"lr", 1}}}),
            "[optimizer] no parameter fits 'idel'\n"
            "HINT: the nearest is 'idle'");
  EXPECT_EQ(problem({"a", {{"momentun", 1}}}),
            "[optimizer] group 'a': sgd has no value 'momentun' for a group\n"
            "HINT: did you mean 'momentum'?");
  // These look at all parameters at once.
  EXPECT_NE(problem({"a", {{"clip_norm", 1}}}), "");
  EXPECT_NE(problem({"a", {{"ema_decay", 0.1}}}), "");
}

TEST(OptimizerPass, GroupsWithMomentaOfTheirOwnHaveTheirProduct) {
  Optimizer optimizer = make_optimizer("nadam");
  add_group(optimizer, {"a", {{"beta1", 0.5}}});
  add_group(optimizer, {"b", {{"lr", 0.5}}});
  StepGraph step = step_of(optimizer);
  EXPECT_NE(step.graph.find_slot("optimizer/mu_product"), kNone);
  EXPECT_NE(step.graph.find_slot("optimizer/mu_product/beta1:a"), kNone);
}

// What the user sets and what updates read are two slots.
TEST(OptimizerPass, ScheduledRatesLeaveTheirBaseAlone) {
  Optimizer optimizer = make_optimizer("sgd");
  add_group(optimizer, {"a", {{"lr", 0.5}}});
  StepGraph plain = step_of(optimizer);
  EXPECT_EQ(plain.graph.find_slot("schedule/lr"), kNone);
  optimizer.scheduled = true;
  StepGraph step = step_of(optimizer, 3);
  EXPECT_EQ(step.graph.find_slot(kPlateauSlot), kNone);
  for (const char* name : {"lr", "lr:a"}) {
    EXPECT_EQ(slot_of(step.graph, schedule_slot(name)).role, Role::kCounter);
    SlotId base = step.graph.find_slot(hyper_slot(name));
    EXPECT_NE(base, kNone);
    for (const Node& node : step.graph.nodes()) EXPECT_NE(node.slot, base);
  }
  optimizer.plateau = true;
  step = step_of(optimizer, 3);
  EXPECT_EQ(slot_of(step.graph, kPlateauSlot).stored_shape(),
            (Shape{3, kPlateauNumbers}));
}

TEST(OptimizerPass, FreezesAndInitialisesByPattern) {
  Graph graph = micro_part().graph;
  freeze(graph, {"a", "i*"});
  EXPECT_FALSE(slot_of(graph, "a").trainable);
  EXPECT_TRUE(slot_of(graph, "b").trainable);
  EXPECT_FALSE(slot_of(graph, "idle").trainable);
  initialise(graph, "?", Init::normal(2));
  EXPECT_EQ(slot_of(graph, "b").init, Init::normal(2));
  EXPECT_EQ(slot_of(graph, "idle").init, Init::constant(1));
  EXPECT_THROW(freeze(graph, {"c"}), std::invalid_argument);
  EXPECT_THROW(initialise(graph, "c", {}), std::invalid_argument);
  // No fans in a vector.
  EXPECT_THROW(initialise(graph, "a", {Init::Kind::kXavierNormal, 1}),
               std::invalid_argument);
}

}  // namespace
}  // namespace braid::passes
