#include "braid/passes/array/array.h"

#include <gtest/gtest.h>

#include "braid/passes/names.h"
#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

using Names = std::vector<std::string>;

Graph array_of(const std::string& statements, int64_t members,
               Names shared = {}) {
  Graph graph = array(table(), graph_of(statements),
                      {.members = members, .shared_inputs = shared});
  verify(graph);
  return graph;
}

const char* kLinear = R"(
  slot "w" f32[5, 3] parameter uniform(-1.0, 1.0)
  slot "b" f32[5] parameter constant(0.0)
  input %0 "x" f32[4, 3]
  %1: f32[5, 3] = read "w"
  %2: f32[5] = read "b"
  %3: f32[4, 3] = relu(%0)
  %4: f32[4, 5] = linear(%3, %1, %2)
  output "y" %4
)";

TEST(ArrayPass, InputsSlotsAndOutputsLeadWithMembers) {
  Graph graph = array_of(kLinear, 6);
  EXPECT_EQ(graph.value(graph.find_input("x")).type.shape, (Shape{6, 4, 3}));
  EXPECT_EQ(slot_of(graph, "w").members, 6);
  EXPECT_EQ(slot_of(graph, "w").shape, (Shape{5, 3}));
  EXPECT_EQ(node_of(graph, "linear").attrs.integer("members"), 6);
  EXPECT_EQ(type_of_output(graph, "y").shape, (Shape{6, 4, 5}));
}

TEST(ArrayPass, ASharedInputStaysSingleAndMakesOneDenseProduct) {
  Graph graph = array_of(kLinear, 6, {"x"});
  EXPECT_EQ(graph.value(graph.find_input("x")).type.shape, (Shape{4, 3}));
  const Node& relu = node_of(graph, "relu");
  EXPECT_EQ(graph.value(relu.outputs[0]).type.shape, (Shape{4, 3}));
  const Node& linear = node_of(graph, "linear");
  EXPECT_FALSE(linear.attrs.has("members"));
  EXPECT_EQ(linear.inputs[0], relu.outputs[0]);
  EXPECT_EQ(graph.value(linear.inputs[1]).type.shape, (Shape{30, 3}));
  EXPECT_EQ(graph.value(linear.outputs[0]).type.shape, (Shape{4, 30}));
  EXPECT_EQ(type_of_output(graph, "y").shape, (Shape{6, 4, 5}));
}

TEST(ArrayPass, ADenseProductOfHigherRankLeadsWithMembers) {
  Graph graph = array_of(R"(
    slot "w" f32[5, 3] parameter constant(0.0)
    input %0 "x" f32[2, 4, 3]
    %1: f32[5, 3] = read "w"
    %2: f32[2, 4, 5] = linear(%0, %1, _)
    output "y" %2
  )",
                         6, {"x"});
  EXPECT_EQ(count_op(graph, "linear"), 1);
  EXPECT_EQ(graph.value(node_of(graph, "linear").outputs[0]).type.shape,
            (Shape{2, 4, 30}));
  EXPECT_EQ(type_of_output(graph, "y").shape, (Shape{6, 2, 4, 5}));
}

TEST(ArrayPass, ValuesOfNoMemberAreMadeOnceAndOutputsRepeated) {
  Graph graph = array_of(R"(
    input %0 "x" f32[4]
    %1: f32[4] = exp(%0)
    output "y" %1
  )",
                         3, {"x"});
  EXPECT_EQ(op_names(graph), (Names{"exp", "expand"}));
  EXPECT_EQ(type_of_output(graph, "y").shape, (Shape{3, 4}));
}

// N 2, C 3 -> 4 -> 4 channels.
const char* kImages = R"(
  slot "w1" f32[4, 3, 3, 3] parameter constant(0.0)
  slot "w2" f32[4, 4, 3, 3] parameter constant(0.0)
  slot "g" f32[4] parameter constant(1.0)
  slot "m" f32[4] buffer constant(0.0)
  slot "v" f32[4] buffer constant(1.0)
  input %0 "x" f32[2, 3, 8, 8]
  %1: f32[4, 3, 3, 3] = read "w1"
  %2: f32[2, 4, 8, 8] = \
    conv2d(%0, %1) {stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1}
  %3: f32[4] = read "g"
  %4: f32[4] = read "m"
  %5: f32[4] = read "v"
  %6: f32[2, 4, 8, 8], %7: f32[4], %8: f32[4], %9: f32[4], %10: f32[4] = \
    batch_norm(%2, %3, _, %4, %5) {training=true, momentum=0.1, eps=1e-05}
  assign "m" (%9)
  assign "v" (%10)
  %11: f32[2, 4, 8, 8] = relu(%6)
  %12: f32[2, 4, 4, 4], %13: i64[2, 4, 4, 4] = \
    max_pool2d(%11) {kernel=[2, 2], stride=[2, 2], padding=[0, 0]}
  %14: f32[4, 4, 3, 3] = read "w2"
  %15: f32[2, 4, 4, 4] = \
    conv2d(%12, %14) {stride=[1, 1], padding=[1, 1], dilation=[1, 1], \
    groups=1}
  %16: f32[2, 4, 4, 4] = add(%12, %15)
  output "y" %16
)";

TEST(ArrayPass, ChainsOverImagesStayMergedWithoutPermutes) {
  Graph graph = array_of(kImages, 3);
  NodeId first = id_of(graph, node_of(graph, "conv2d"));
  NodeId last = id_of(graph, node_of(graph, "add"));
  for (NodeId id = first; id <= last; ++id) {
    EXPECT_NE(graph.node(id).op->name, "permute") << id;
  }
  EXPECT_EQ(count_op(graph, "permute"), 2);  // in before, out after
  EXPECT_EQ(node_of(graph, "conv2d").attrs.integer("groups"), 3);
  EXPECT_EQ(graph.value(node_of(graph, "add").outputs[0]).type.shape,
            (Shape{2, 12, 4, 4}));
  EXPECT_EQ(type_of_output(graph, "y").shape, (Shape{3, 2, 4, 4, 4}));
}

TEST(ArrayPass, ASharedImageMakesOneDenseConvolution) {
  Graph graph = array_of(kImages, 3, {"x"});
  EXPECT_EQ(node_of(graph, "conv2d").attrs.integer("groups"), 1);
  EXPECT_EQ(node_of(graph, "conv2d", 1).attrs.integer("groups"), 3);
  EXPECT_EQ(count_op(graph, "permute"), 1);
}

TEST(ArrayPass, StatisticsOfMembersAreAssignedToTheirSlots) {
  Graph graph = array_of(kImages, 3);
  const Node& assign = node_of(graph, "assign");
  EXPECT_EQ(graph.slot(assign.slot).name, "m");
  EXPECT_EQ(graph.value(assign.inputs[0]).type.shape, (Shape{3, 4}));
}

const char* kDropout = R"(
  slot "p" f64[] hyper constant(0.5)
  slot "seed" i64[] counter constant(0.0)
  slot "step" i64[] counter constant(0.0)
  input %0 "x" f32[4, 3]
  input %1 "/micro" i64[]
  %2: f64[] = read "p"
  %3: i64[] = read "seed"
  %4: i64[] = read "step"
  %5: f32[4, 3] = dropout(%0, %2, %3, %4, %1) @"drop" rng=0xabc
  output "y" %5
)";

TEST(ArrayPass, RandomNodesKeepTheirKey) {
  for (const Names& shared : {Names{}, Names{"x"}}) {
    Graph graph = array_of(kDropout, 3, shared);
    const Node& dropout = node_of(graph, "dropout");
    EXPECT_EQ(dropout.rng_key, 0xabcu);
    EXPECT_EQ(dropout.path, "drop");
    EXPECT_EQ(graph.value(dropout.outputs[0]).type.shape, (Shape{3, 4, 3}));
    EXPECT_EQ(graph.value(graph.find_input(kMicroInput)).type.shape, Shape{});
  }
}

// Its kernel reads one rate after the other.
TEST(ArrayPass, ASharedRateOfDropoutHasMemoryPerMember) {
  Graph graph = array_of(R"(
    slot "seed" i64[] counter constant(0.0)
    input %0 "x" f32[4, 3]
    input %1 "/micro" i64[]
    %2: f64[] = full(%0) {dtype="f64", shape=[], value=0.5}
    %3: i64[] = read "seed"
    %4: f32[4, 3] = dropout(%0, %2, %3, %3, %1) rng=0xabc
    output "y" %4
  )",
                         3, {"x"});
  const Node& dropout = node_of(graph, "dropout");
  const Value& rate = graph.value(dropout.inputs[1]);
  EXPECT_EQ(rate.type.shape, (Shape{3}));
  EXPECT_EQ(graph.node(rate.producer).op->name, "copy");
}

// [N, B * O] and one number that has more dimensions than it.
TEST(ArrayPass, ANumberOfHigherRankDoesNotConfuseMergedValues) {
  Graph graph = array_of(R"(
    slot "w" f32[5, 3] parameter constant(0.0)
    input %0 "x" f32[4, 3]
    input %1 "s" f32[1, 1, 1]
    %2: f32[5, 3] = read "w"
    %3: f32[4, 5] = linear(%0, %2, _)
    %4: f32[1, 4, 5] = add(%3, %1)
    output "y" %4
  )",
                         2, {"x", "s"});
  EXPECT_EQ(type_of_output(graph, "y").shape, (Shape{2, 1, 4, 5}));
}

TEST(ArrayPass, NodesKeepPathAndSegment) {
  Graph graph = array_of(R"(
    slot "w" f32[5, 3] parameter constant(0.0)
    input %0 "x" f32[4, 3]
    %1: f32[5, 3] = read "w" @"a" segment=1
    %2: f32[4, 5] = linear(%0, %1, _) @"b" segment=2
    output "y" %2
  )",
                         2);
  EXPECT_EQ(node_of(graph, "read").path, "a");
  EXPECT_EQ(node_of(graph, "read").segment, 1);
  EXPECT_EQ(node_of(graph, "linear").path, "b");
  EXPECT_EQ(node_of(graph, "linear").segment, 2);
}

TEST(ArrayPass, RefusesWhatItCannotDo) {
  EXPECT_THROW(array_of(kLinear, 0), std::invalid_argument);
  EXPECT_THROW(array_of(kLinear, 2, {"z"}), std::invalid_argument);
  try {
    array_of(R"(
      input %0 "x" f32[4]
      %1: f32[4] = relu_backward(%0, %0)
      output "y" %1
    )",
             2);
    FAIL() << "took an op without an array rule";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()),
              "[array] op 'relu_backward' has no array rule");
  }
}

TEST(ArrayPass, ASharedInputOfPreluGetsTheMembersOfItsWeights) {
  Graph graph = array_of(R"(
    slot "w" f32[3, 1] parameter constant(0.0)
    input %0 "x" f32[2, 3, 4]
    %1: f32[3, 1] = read "w"
    %2: f32[2, 3, 4] = prelu(%0, %1)
    output "y" %2
  )",
                         5, {"x"});
  EXPECT_EQ(type_of_output(graph, "y").shape, (Shape{5, 2, 3, 4}));
}

}  // namespace
}  // namespace braid::passes
