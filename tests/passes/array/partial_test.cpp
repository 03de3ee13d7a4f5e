#include "braid/passes/array/partial.h"

#include <gtest/gtest.h>

#include "braid/ops/build/functions.h"
#include "braid/passes/array/common_order.h"
#include "braid/passes/names.h"
#include "braid/passes/step/autodiff.h"
#include "braid/passes/step/optimizer.h"
#include "passes/text_graphs.h"
#include "thrown.h"

namespace braid::passes {
namespace {

using Graphs = std::vector<Graph>;
using Names = std::vector<std::string>;
using Lists = std::vector<std::vector<int32_t>>;

Graph join(const Graphs& members, Names shared = {}) {
  Graph graph = array_of(table(), members, {.shared_inputs = shared});
  verify(graph);
  return graph;
}

struct Sizes {
  int64_t hidden = 5, classes = 3;
  bool extra = false;  // a block between both layers
  bool tanh = false;   // in place of relu
  double dropout = 0;
};

Var layer(Var x, int64_t outputs, const std::string& name) {
  Graph& graph = *x.graph;
  PathScope scope(graph, name);
  SlotId weight = graph.add_slot({.name = name + ".weight",
                                  .shape = {outputs, x.dim(-1)},
                                  .init = Init::uniform(1)});
  SlotId bias = graph.add_slot({.name = name + ".bias", .shape = {outputs}});
  return linear(x, read(graph, weight), read(graph, bias));
}

SlotId number_slot(Graph& graph, const std::string& name, DType dtype,
                   Role role, double value = 0) {
  return graph.add_slot({.name = name,
                         .dtype = dtype,
                         .role = role,
                         .init = Init::constant(value)});
}

Var drop(Var x, double p) {
  if (p == 0) return x;
  Graph& g = *x.graph;
  PathScope scope(g, "drop");
  auto number = [&](const char* name, DType dtype, Role role, double value) {
    return read(g, number_slot(g, name, dtype, role, value));
  };
  return dropout(x,
                 {.p = number("hyper/drop.p", DType::kFloat64, Role::kHyper, p),
                  .seed = number(kSeedSlot, DType::kInt64, Role::kCounter, 0),
                  .step = number(kStepSlot, DType::kInt64, Role::kCounter, 0),
                  .micro = input(g, kMicroInput, {DType::kInt64, {}})});
}

// N 4, I 6 -> hidden -> classes.
Graph model(const Sizes& sizes) {
  Graph graph(table());
  Var x = input(graph, "x", {DType::kFloat32, {4, 6}});
  Var y = input(graph, "y", {DType::kInt64, {4}});
  x = relu(layer(x, 7, "first"));
  if (sizes.extra) x = relu(layer(x, 7, "extra"));
  x = layer(x, sizes.hidden, "second");
  x = sizes.tanh ? tanh(x) : relu(x);
  x = drop(x, sizes.dropout);
  x = layer(x, sizes.classes, "head");
  graph.add_output("loss", cross_entropy(x, y).id);
  return graph;
}

std::string problem_of(const Graphs& members) {
  return thrown_by([&] { join(members); });
}

Names own_slots(const Graph& graph) {
  Names names;
  for (const Slot& slot : graph.slots()) {
    if (slot.owner() != kAllMembers) names.push_back(slot.name);
  }
  return names;
}

TEST(CommonOrder, IsTheLongestOfTwoLists) {
  EXPECT_EQ(common_order({{1, 2, 3, 4}, {1, 9, 3, 4}}),
            (Lists{{0, 0}, {2, 2}, {3, 3}}));
  EXPECT_EQ(common_order({{1, 2, 3}, {2, 3, 1}}), (Lists{{1, 0}, {2, 1}}));
  EXPECT_EQ(common_order({{1}, {2}}), Lists{});
  EXPECT_EQ(common_order({{}, {2}}), Lists{});
  EXPECT_EQ(common_order({{7, 7}, {7, 7, 7}}), (Lists{{0, 0}, {1, 1}}));
}

TEST(CommonOrder, OfManyListsIsInAllOfThem) {
  EXPECT_EQ(common_order({{1, 2, 3, 4}, {1, 3, 4}, {0, 1, 2, 3, 4}}),
            (Lists{{0, 0, 1}, {2, 1, 3}, {3, 2, 4}}));
  EXPECT_EQ(common_order({{5, 6}}), (Lists{{0}, {1}}));
}

TEST(Partial, EqualGraphsGiveWhatTheArrayPassGives) {
  Graph one = model({.extra = true, .dropout = 0.5});
  Graph whole = array(table(), one, {.members = 3, .shared_inputs = {"x"}});
  EXPECT_EQ(print_graph(join({one, one, one}, {"x"})), print_graph(whole));
  EXPECT_EQ(common_share({one, one}), 1);
}

TEST(Partial, AWiderHeadPartsTheHeadAndItsLoss) {
  Graphs members{model({}), model({.classes = 5}), model({})};
  Graph graph = join(members);
  EXPECT_EQ(own_slots(graph),
            (Names{"member.0/head.weight", "member.0/head.bias",
                   "member.1/head.weight", "member.1/head.bias",
                   "member.2/head.weight", "member.2/head.bias"}));
  EXPECT_EQ(slot_of(graph, "member.1/head.weight").shape, (Shape{5, 5}));
  EXPECT_EQ(slot_of(graph, "member.1/head.weight").own_name(), "head.weight");
  EXPECT_EQ(slot_of(graph, "second.weight").members, 3);
  EXPECT_EQ(count_op(graph, "linear"), 2 + 3);
  EXPECT_EQ(count_op(graph, "relu"), 2);
  EXPECT_EQ(type_of_output(graph, "loss").shape, (Shape{3}));
}

TEST(Partial, AWiderLayerPartsWhatIsBetweenTwoThatFit) {
  Graph graph = join({model({.hidden = 8}), model({})});
  // second and head read or make the width; the head's bias does not.
  EXPECT_EQ(slot_of(graph, "head.bias").members, 2);
  EXPECT_EQ(slot_of(graph, "member.0/head.weight").shape, (Shape{3, 8}));
  EXPECT_EQ(slot_of(graph, "member.1/second.bias").shape, (Shape{5}));
  // Layers of both members lie side by side.
  Names layers;
  for (const Node& node : graph.nodes()) {
    if (node.op->name == "linear") layers.push_back(node.path);
  }
  EXPECT_EQ(layers, (Names{"first", "second", "second", "head", "head"}));
  // The loss sees shapes that agree again.
  EXPECT_EQ(count_op(graph, "cross_entropy_loss"), 1);
}

TEST(Partial, AnExtraBlockPartsNothingThatFollows) {
  Graphs members{model({}), model({.extra = true}), model({})};
  PartialReport report = partial_report(members);
  EXPECT_EQ(report.own, (std::vector<int64_t>{0, 4, 0}));
  EXPECT_EQ(report.common, static_cast<int64_t>(members[0].nodes().size()));
  Graph graph = join(members);
  EXPECT_EQ(own_slots(graph),
            (Names{"member.1/extra.weight", "member.1/extra.bias"}));
  EXPECT_EQ(count_op(graph, "linear"), 3 + 1);
  EXPECT_EQ(count_op(graph, "relu"), 2 + 1);
  EXPECT_EQ(count_op(graph, "cat"), 1);
}

TEST(Partial, AnotherActivationPartsItselfAlone) {
  Graphs members{model({}), model({.tanh = true})};
  EXPECT_EQ(partial_report(members).own, (std::vector<int64_t>{1, 1}));
  Graph graph = join(members);
  EXPECT_EQ(own_slots(graph), Names{});
  EXPECT_EQ(count_op(graph, "tanh"), 1);
  EXPECT_EQ(count_op(graph, "relu"), 2);
  double share = common_share(members);
  EXPECT_GT(share, 0.7);
  EXPECT_LT(share, 1);
}

TEST(Partial, NumbersOfSomeMembersLieSideBySide) {
  Graphs members{model({}), model({.dropout = 0.25}), model({.dropout = 0.5})};
  Graph graph = join(members);
  const Slot& rate = slot_of(graph, "hyper/drop.p");
  EXPECT_EQ(rate.members, 3);
  EXPECT_EQ(rate.owners, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(rate.of_member(1).init, Init::constant(0.25));
  EXPECT_EQ(rate.of_member(2).init, Init::constant(0.5));
  EXPECT_EQ(slot_of(graph, kSeedSlot).members, 3);
  // Each draws with a key of its own model, for itself.
  ASSERT_EQ(count_op(graph, "dropout"), 2);
  EXPECT_EQ(node_of(graph, "dropout", 0).rng_key,
            node_of(members[1], "dropout").rng_key);
  EXPECT_FALSE(node_of(graph, "dropout").attrs.has("members"));
}

TEST(Partial, OtherRatesPartNothing) {
  Graph graph = join({model({.dropout = 0.1}), model({.dropout = 0.2})});
  EXPECT_EQ(count_op(graph, "dropout"), 1);
  EXPECT_EQ(slot_of(graph, "hyper/drop.p").inits,
            (std::vector<Init>{Init::constant(0.1), Init::constant(0.2)}));
  EXPECT_EQ(own_slots(graph), Names{});
}

TEST(Partial, FrozenWeightsOfOneMemberAreItsOwn) {
  Graphs members{model({}), model({})};
  freeze(members[1], {"first.*"});
  Graph graph = join(members);
  EXPECT_TRUE(slot_of(graph, "member.0/first.weight").trainable);
  EXPECT_FALSE(slot_of(graph, "member.1/first.weight").trainable);
  EXPECT_EQ(count_op(graph, "linear"), 3);  // of stacked weights
}

TEST(Partial, ABufferThatOneMemberDoesNotWriteIsItsOwn) {
  const char* kWrites = R"(
    slot "mean" f32[3] buffer constant(0.0)
    input %0 "x" f32[3]
    %1: f32[3] = read "mean"
    %2: f32[3] = add(%0, %1)
    assign "mean" (%2)
    output "loss" %2
  )";
  const char* kReads = R"(
    slot "mean" f32[3] buffer constant(0.0)
    input %0 "x" f32[3]
    %1: f32[3] = read "mean"
    %2: f32[3] = add(%0, %1)
    output "loss" %2
  )";
  Graph graph = join({graph_of(kWrites), graph_of(kReads)});
  EXPECT_EQ(own_slots(graph), (Names{"member.0/mean", "member.1/mean"}));
  EXPECT_EQ(count_op(graph, "assign"), 1);
  EXPECT_EQ(count_op(graph, "add"), 1);
}

TEST(Partial, OutputsOfOtherTypesAreThereForEachMember) {
  Graphs members{model({}), model({.classes = 5})};
  for (Graph& member : members) {
    member.add_output("logits", node_of(member, "linear", 2).outputs[0]);
  }
  Graph graph = join(members);
  EXPECT_EQ(type_of_output(graph, "loss").shape, (Shape{2}));
  EXPECT_EQ(graph.find_output("logits"), kNone);
  EXPECT_EQ(type_of_output(graph, "member.0/logits").shape, (Shape{4, 3}));
  EXPECT_EQ(type_of_output(graph, "member.1/logits").shape, (Shape{4, 5}));
}

TEST(Partial, TextKeepsOwnersAndBeginnings) {
  Graph graph =
      join({model({.dropout = 0.1}), model({.classes = 5, .dropout = 0.2})});
  Graph again = parse_graph(print_graph(graph), table());
  EXPECT_EQ(again.slots(), graph.slots());
  EXPECT_EQ(print_graph(again), print_graph(graph));
}

TEST(Partial, MembersMustTakeTheSameInputs) {
  Graph other = graph_of(R"(
    input %0 "x" f32[4, 5]
    %1: f32[4, 5] = relu(%0)
    output "loss" %1
  )");
  Graph longer = graph_of(R"(
    input %0 "x" f32[5, 5]
    %1: f32[5, 5] = relu(%0)
    output "loss" %1
  )");
  EXPECT_EQ(problem_of({other, longer}),
            "[array] expected f32[4, 5] for input 'x' of member 1, got "
            "f32[5, 5]\nHINT: models that are trained together take the same "
            "inputs");
  EXPECT_NE(problem_of({other, model({})}).find("input"), std::string::npos);
  EXPECT_NE(problem_of({}).find("at least one member"), std::string::npos);
}

TEST(Partial, MembersWithNothingInCommonAreRefused) {
  Graphs members;
  for (const char* op : {"relu", "tanh"}) {
    members.push_back(graph_of(fmt::format(R"(
      input %0 "x" f32[4]
      %1: f32[4] = {}(%0)
      output "loss" %1
    )",
                                           op)));
  }
  EXPECT_EQ(common_share(members), 0);
  EXPECT_NE(problem_of(members).find("the 2 members have nothing in common"),
            std::string::npos);
}

TEST(Partial, UpdatesOfOneMemberReadItsNumbers) {
  Graph forward = join({model({}), model({.classes = 5})});
  Gradients gradients = differentiate(table(), forward);
  Optimizer optimizer = make_optimizer("adamw");
  set_option(optimizer, "clip_norm", 1);
  add_group(optimizer, {"head.*", {{"weight_decay", 0.5}}});
  StepGraph step = add_optimizer(
      table(), {std::move(gradients.graph), 1, std::move(gradients.of_slot)},
      optimizer);
  verify(step.graph);
  const Slot& state =
      slot_of(step.graph, "member.1/optimizer/exp_avg/head.weight");
  EXPECT_EQ(state.owners, (std::vector<int64_t>{1}));
  EXPECT_EQ(state.shape, (Shape{5, 5}));
  EXPECT_EQ(slot_of(step.graph, "hyper/lr").members, 2);
  EXPECT_EQ(slot_of(step.graph, "hyper/weight_decay:head.*").members, 2);
  EXPECT_EQ(slot_of(step.graph, kUpdateSlot).members, 2);
  // One norm for all, from fused and own gradients.
  EXPECT_EQ(count_op(step.graph, "clip_scale"), 1);
  ValueId scale = node_of(step.graph, "clip_scale").outputs[0];
  EXPECT_EQ(step.graph.value(scale).type.shape, (Shape{2}));
}

}  // namespace
}  // namespace braid::passes
