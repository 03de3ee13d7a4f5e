#include "braid/passes/step/label_smoothing.h"

#include <gtest/gtest.h>

#include "braid/graph/slot_use.h"
#include "braid/passes/array/array.h"
#include "braid/passes/step/autodiff.h"
#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

const std::string kLosses = R"(
  slot "w" f32[4, 3] parameter constant(0.5)
  input %0 "x" f32[5, 3]
  input %1 "y" i64[5]
  %2: f32[4, 3] = read "w" @"fc"
  %3: f32[5, 4] = linear(%0, %2) @"fc"
  %4: f32[], %5: f32[5], %6: f32[] = cross_entropy_loss(%3, %1) \
{ignore_index=2, label_smoothing=0.125} @"head"
  %7: f32[], %8: f32[5], %9: f32[] = cross_entropy_loss(%3, %1) @"head"
  %10: f32[] = add(%4, %7)
  output "loss" %10
)";

const Slot& slot_of(const Graph& graph, const std::string& name) {
  SlotId id = graph.find_slot(name);
  EXPECT_NE(id, kNone) << name;
  return graph.slot(id);
}

TEST(LabelSmoothing, ConstantsBecomeSlotsOfTheirLayer) {
  Graph graph = free_label_smoothing(graph_of(kLosses));
  verify(graph);
  const Slot& first = slot_of(graph, "hyper/head.label_smoothing");
  EXPECT_EQ(first.init, Init::constant(0.125));
  EXPECT_EQ(first.role, Role::kHyper);
  EXPECT_EQ(slot_of(graph, "hyper/head.label_smoothing2").init,
            Init::constant(0));
  const Node& loss = node_of(graph, "cross_entropy_loss");
  EXPECT_EQ(graph.node(graph.value(loss.inputs.at(3)).producer).slot,
            graph.find_slot("hyper/head.label_smoothing"));
  EXPECT_EQ(loss.inputs[2], kNone);
  EXPECT_FALSE(loss.attrs.has("label_smoothing"));
  EXPECT_EQ(loss.attrs.integer("ignore_index"), 2);
}

TEST(LabelSmoothing, NamesDoNotDependOnValues) {
  std::string other = kLosses;
  other.replace(other.find("0.125"), 5, "0.0");
  Graph a = free_label_smoothing(graph_of(kLosses));
  Graph b = free_label_smoothing(graph_of(other));
  ASSERT_EQ(a.slots().size(), b.slots().size());
  for (size_t i = 0; i < a.slots().size(); ++i) {
    EXPECT_EQ(a.slots()[i].name, b.slots()[i].name);
  }
}

TEST(LabelSmoothing, AFreeGraphStaysAsItIs) {
  Graph once = free_label_smoothing(graph_of(kLosses));
  EXPECT_EQ(print_graph(free_label_smoothing(once)), print_graph(once));
}

TEST(LabelSmoothing, OnlyItsSlotsAreSmoothing) {
  auto is = [](std::string name, Role role = Role::kHyper) {
    return use_of_name(name, role) == SlotUse::kLabelSmoothing;
  };
  EXPECT_TRUE(is("hyper/label_smoothing"));
  EXPECT_TRUE(is("hyper/loss.label_smoothing12"));
  EXPECT_FALSE(is("hyper/loss.label_smoothing.p"));
  EXPECT_FALSE(is("loss.label_smoothing", Role::kParameter));
  EXPECT_FALSE(is("hyper/lr"));
}

// Members lead, and the gradient reads the same number.
TEST(LabelSmoothing, ArraysReadOneNumberPerMember) {
  Graph members = array(table(), free_label_smoothing(graph_of(kLosses)),
                        {.members = 3, .shared_inputs = {"x", "y"}});
  Gradients gradients = differentiate(table(), std::move(members));
  verify(gradients.graph);
  const Node& loss = node_of(gradients.graph, "cross_entropy_loss");
  const Node& back = node_of(gradients.graph, "cross_entropy_loss_backward", 1);
  EXPECT_EQ(gradients.graph.value(loss.inputs.at(3)).type.shape, Shape{3});
  EXPECT_EQ(back.inputs.at(6), loss.inputs.at(3));
}

TEST(LabelSmoothing, IsGivenOnce) {
  std::string twice = kLosses + R"(
    slot "s" f64[] hyper constant(0.5)
    %11: f64[] = read "s"
    %12: f32[], %13: f32[5], %14: f32[] = \
cross_entropy_loss(%3, %1, _, %11) {label_smoothing=0.1}
  )";
  EXPECT_THROW(graph_of(twice), std::invalid_argument);
}

}  // namespace
}  // namespace braid::passes
