#include "braid/passes/rewrite/sink_relu.h"

#include <gtest/gtest.h>

#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

using Names = std::vector<std::string>;

const std::string kPooled = R"(
  input %0 "x" f32[2, 3, 8, 8]
  %1: f32[2, 3, 8, 8] = relu(%0) @"conv"
  %2: f32[2, 3, 4, 4], %3: i64[2, 3, 4, 4] = max_pool2d(%1) \
{dilation=[1, 1], kernel=[2, 2], padding=[0, 0], stride=[2, 2]} @"pool"
  %4: f32[2, 3, 4, 4] = mul_scalar(%2) {value=2.0} @"head"
  output "y" %4
)";

TEST(SinkRelu, ReluComesAfterThePooling) {
  Graph graph = sink_relu(graph_of(kPooled));
  verify(graph);
  EXPECT_EQ(op_names(graph), (Names{"max_pool2d", "relu", "mul_scalar"}));
  const Node& relu = node_of(graph, "relu");
  EXPECT_EQ(relu.inputs[0], node_of(graph, "max_pool2d").outputs[0]);
  EXPECT_EQ(node_of(graph, "mul_scalar").inputs[0], relu.outputs[0]);
  EXPECT_EQ(relu.path, "pool");
}

TEST(SinkRelu, TheAttributesOfThePoolingStay) {
  Graph before = graph_of(kPooled);
  Graph after = sink_relu(before);
  EXPECT_EQ(node_of(after, "max_pool2d").attrs,
            node_of(before, "max_pool2d").attrs);
}

TEST(SinkRelu, WhatAnotherReadsStays) {
  Graph outputs = sink_relu(graph_of(kPooled + "  output \"z\" %1\n"));
  EXPECT_EQ(op_names(outputs), (Names{"relu", "max_pool2d", "mul_scalar"}));
  Graph read =
      sink_relu(graph_of(kPooled + "  %5: f32[2, 3, 8, 8] = neg(%1)\n"));
  EXPECT_EQ(op_names(read)[0], "relu");
}

TEST(SinkRelu, PlacesThatSomebodyReadsStay) {
  Graph graph = sink_relu(graph_of(kPooled + "  output \"places\" %3\n"));
  EXPECT_EQ(op_names(graph)[0], "relu");
}

}  // namespace
}  // namespace braid::passes
