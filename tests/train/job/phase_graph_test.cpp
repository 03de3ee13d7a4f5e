#include "braid/train/job/phase_graph.h"

#include <gtest/gtest.h>

#include "braid/graph/verify.h"
#include "passes/text_graphs.h"
#include "thrown.h"

namespace braid::train {
namespace {

using passes::count_op;
using passes::graph_of;
using passes::node_of;
using Names = std::vector<std::string>;

// y[N, 3] = x[N, F] * w[3, F]^T, with a buffer that is written.
Graph layer(const std::map<std::string, ValueType>& inputs) {
  int64_t rows = inputs.at("x").shape.at(0);
  return graph_of(fmt::format(R"(
    slot "w" f32[3, 2] parameter constant(1.0)
    slot "mean" f32[3] buffer constant(0.0)
    input %0 "x" f32[{0}, 2]
    %1: f32[3, 2] = read "w" @"fc"
    %2: f32[{0}, 3] = linear(%0, %1, _) @"fc"
    %3: f32[3] = mean(%2) {{dims=[0], keep_dims=false}} @"bn"
    %4: f32[3] = read "mean" @"bn"
    %5: f32[3] = add(%3, %4) @"bn"
    assign "mean" (%5) @"bn"
    output "output" %2
  )",
                              rows));
}

// The difference of its two inputs, "a" and "b".
Graph difference(const std::map<std::string, ValueType>&) {
  return graph_of(R"(
    input %0 "a" f32[4, 3]
    input %1 "b" f32[4, 3]
    %2: f32[4, 3] = sub(%0, %1)
    output "output" %2
  )");
}

const PhaseNetworks& networks() {
  static const PhaseNetworks made{
      {"f", {.names = {"x"}, .build = layer}},
      {"g", {.names = {"x"}, .build = layer}},
      {"diff", {.names = {"a", "b"}, .build = difference}}};
  return made;
}

Graph build(const std::string& loss) {
  const std::map<std::string, ValueType> inputs{
      {"x", {DType::kFloat32, {4, 2}}},
      {"y", {DType::kFloat32, {4, 3}}},
      {"unused", {DType::kFloat32, {4}}}};
  return build_phase_graph(table(), parse_expression(loss), networks(), inputs);
}

std::string problem_of(const std::string& loss) {
  return thrown_by([&] { build(loss); });
}

Names slot_names(const Graph& graph) {
  Names names;
  for (const Slot& slot : graph.slots()) names.push_back(slot.name);
  return names;
}

Names input_names(const Graph& graph) {
  Names names;
  for (ValueId id : graph.inputs()) names.push_back(graph.value(id).name);
  return names;
}

TEST(PhaseGraph, HasOneNumberAndTheInputsThatItUses) {
  Graph graph = build("mse(f(x), y)");
  EXPECT_EQ(graph.outputs().size(), 1u);
  EXPECT_EQ(graph.value(graph.find_output("loss")).type.shape, Shape{});
  EXPECT_EQ(input_names(graph), (Names{"x", "y"}));
  EXPECT_EQ(slot_names(graph), (Names{"f.w", "f.mean"}));
  EXPECT_EQ(count_op(graph, "assign"), 1);
  EXPECT_NO_THROW(verify(graph));
}

TEST(PhaseGraph, TwoNetworksOfOneKindHaveTheirOwnSlots) {
  Graph graph = build("mse(f(x), g(x))");
  EXPECT_EQ(slot_names(graph), (Names{"f.w", "f.mean", "g.w", "g.mean"}));
  EXPECT_EQ(input_names(graph), (Names{"x"}));
  EXPECT_EQ(count_op(graph, "assign"), 2);
}

TEST(PhaseGraph, ASecondCallUsesTheSameSlots) {
  Graph graph = build("mse(f(x), detach(f(x)))");
  EXPECT_EQ(slot_names(graph), (Names{"f.w", "f.mean"}));
  EXPECT_EQ(count_op(graph, "linear"), 2);
  EXPECT_EQ(count_op(graph, "detach"), 1);
  EXPECT_EQ(count_op(graph, "assign"), 1);
  EXPECT_NO_THROW(verify(graph));
}

TEST(PhaseGraph, ArgumentsGoByPlaceOrByName) {
  for (const char* call :
       {"diff(f(x), y)", "diff(f(x), b=y)", "diff(b=y, a=f(x))"}) {
    Graph graph = build(fmt::format("mean({})", call));
    const Node& sub = node_of(graph, "sub");
    EXPECT_EQ(sub.inputs[0], node_of(graph, "linear").outputs[0]) << call;
    EXPECT_EQ(sub.inputs[1], graph.find_input("y")) << call;
  }
}

TEST(PhaseGraph, WrongCallsAreNamed) {
  EXPECT_EQ(problem_of("mean(f(x, y))"), "[loss] f takes 1 values, got 2");
  EXPECT_EQ(problem_of("mean(f(x, z=y))"),
            "[loss] f does not need the input 'z'");
  EXPECT_EQ(problem_of("mean(diff(y, a=y))"),
            "[loss] diff gets the input 'a' twice");
  EXPECT_EQ(problem_of("mean(diff(b=y, b=y))"),
            "[loss] diff gets the input 'b' twice");
  EXPECT_EQ(problem_of("mean(f(y))"),
            "[f] input 'x' is f32[4, 3], expected f32[4, 2]");
}

TEST(PhaseGraph, UnknownInputsAreNamed) {
  EXPECT_EQ(problem_of("mse(f(x), yy)"),
            "[loss] there is no input 'yy'\nHINT: did you mean 'y'?");
}

TEST(PhaseGraph, TheLossIsOneNumber) {
  EXPECT_EQ(problem_of("f(x)"),
            "[loss] a phase's loss is one number, got shape [4, 3]");
  EXPECT_EQ(problem_of("mean(f(x)) + 2 * mean(y)"), "");
}

}  // namespace
}  // namespace braid::train
