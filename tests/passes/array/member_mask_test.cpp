#include "braid/passes/array/member_mask.h"

#include <gtest/gtest.h>

#include "braid/passes/names.h"
#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

TEST(MemberMask, BuffersTakeTheirOldContentWhereAMemberPauses) {
  Graph graph = mask_members(table(), graph_of(R"(
    slot "mean" f32[4] buffer constant(0.0)
    input %0 "x" f32[4]
    %1: f32[4] = relu(%0) @"fc"
    assign "mean" (%1)
    output "y" %1
  )"));
  verify(graph);
  ASSERT_EQ(graph.slots().size(), 2u);
  EXPECT_EQ(graph.slots()[0].name, "mean");
  EXPECT_EQ(graph.slots()[1].name, kActiveSlot);
  EXPECT_EQ(graph.slots()[1].init, Init::constant(1));
  const Node& chosen = node_of(graph, "where");
  EXPECT_EQ(node_of(graph, "assign").inputs[0], chosen.outputs[0]);
  EXPECT_EQ(chosen.inputs[1], node_of(graph, "relu").outputs[0]);
  const Node& before = graph.node(graph.value(chosen.inputs[2]).producer);
  EXPECT_EQ(before.op->name, "read");
  EXPECT_EQ(before.slot, graph.find_slot("mean"));
}

}  // namespace
}  // namespace braid::passes
