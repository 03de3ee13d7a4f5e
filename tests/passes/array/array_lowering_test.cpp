#include "braid/passes/array/array_lowering.h"

#include <gtest/gtest.h>

#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

using Lowerings = std::vector<Lowering>;

const std::string kOptions =
    "{stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1}";

// Three convolutions of which the second is another kind.
Graph three() {
  return graph_of(R"(
    slot "w" f32[4, 4, 3, 3] parameter constant(0.0)
    slot "v" f32[4, 4, 1, 1] parameter constant(0.0)
    input %0 "x" f32[2, 4, 8, 8]
    %1: f32[4, 4, 3, 3] = read "w"
    %2: f32[4, 4, 1, 1] = read "v"
    %3: f32[2, 4, 8, 8] = conv2d(%0, %1) )" +
                  kOptions + R"(
    %4: f32[2, 4, 8, 8] = \
      conv2d(%3, %2) {stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1}
    %5: f32[2, 4, 8, 8] = conv2d(%4, %1) )" +
                  kOptions + R"(
    output "y" %5
  )");
}

// Of the convolutions alone.
Lowerings chosen(const Graph& one, const ArrayPassOptions& options) {
  Lowerings all = choose_lowerings(table(), one, options), found;
  for (size_t i = 0; i < all.size(); ++i) {
    if (one.nodes()[i].op->name == "conv2d") found.push_back(all[i]);
  }
  return found;
}

// 1 second for what is wanted of 3x3 and of 1x1 kernels, else `other`.
LoweringSeconds prefer(Lowering large, Lowering small, double other) {
  return [=](const NodeView& one, int64_t, Lowering lowering) {
    return lowering == (one.dim(1, 2) == 3 ? large : small) ? 1 : other;
  };
}

TEST(Lowering, FitsAreThoseOfTheKind) {
  Graph one = three();
  EXPECT_EQ(lowerings_of(NodeView(one, node_of(one, "conv2d"))),
            (Lowerings{Lowering::kGrouped, Lowering::kGroupedLast,
                       Lowering::kMember}));
  EXPECT_EQ(lowerings_of(NodeView(one, node_of(one, "conv2d", 1))),
            (Lowerings{Lowering::kGrouped, Lowering::kGroupedLast,
                       Lowering::kMember, Lowering::kGemm}));
  EXPECT_TRUE(lowerings_of(NodeView(one, node_of(one, "read"))).empty());
}

TEST(Lowering, NamesComeBack) {
  for (Lowering lowering : all_lowerings()) {
    EXPECT_EQ(find_lowering(lowering_name(lowering)), lowering);
  }
  EXPECT_EQ(find_lowering("fast"), std::nullopt);
}

TEST(ChooseLowerings, TakesTheFastestOfEachKindWhenItPays) {
  EXPECT_EQ(chosen(three(), {.members = 3,
                             .seconds = prefer(Lowering::kGroupedLast,
                                               Lowering::kGemm, 9)}),
            (Lowerings{Lowering::kGroupedLast, Lowering::kGemm,
                       Lowering::kGroupedLast}));
}

// A product that is faster by less than turning its input round twice.
TEST(ChooseLowerings, StaysInOneLayoutWhenTurningCostsMore) {
  EXPECT_EQ(chosen(three(), {.members = 3,
                             .seconds = prefer(Lowering::kGroupedLast,
                                               Lowering::kGemm, 1 + 1e-9)}),
            (Lowerings{Lowering::kMember, Lowering::kGemm, Lowering::kMember}));
}

TEST(ChooseLowerings, TakesWhatIsForcedWhereItFits) {
  EXPECT_EQ(
      chosen(three(), {.members = 3, .lowering = Lowering::kGemm}),
      (Lowerings{Lowering::kGrouped, Lowering::kGemm, Lowering::kGrouped}));
}

TEST(ChooseLowerings, IsAFunctionOfItsArguments) {
  for (int64_t members : {1, 8, 64}) {
    ArrayPassOptions options{.members = members, .threads = 2};
    EXPECT_EQ(chosen(three(), options), chosen(three(), options));
  }
}

TEST(ArrayPassReport, TellsLayoutsAndTurns) {
  Graph one = three();
  ArrayResult merged = array_reported(
      table(), one, {.members = 3, .lowering = Lowering::kGrouped});
  ASSERT_EQ(merged.report.relayouts.size(), 2u);  // in and out
  EXPECT_EQ(merged.report.relayouts[0].to, MemberAxis::kMerged);
  EXPECT_EQ(merged.report.relayouts[0].bytes, 3 * 2 * 4 * 8 * 8 * 4);
  EXPECT_EQ(merged.report.relayouts[1].to, MemberAxis::kLeading);
  ArrayResult leading = array_reported(
      table(), one, {.members = 3, .lowering = Lowering::kMember});
  EXPECT_TRUE(leading.report.relayouts.empty());
  EXPECT_EQ(count_op(leading.graph, "permute"), 0);
  for (MemberAxis axis : leading.report.axes) {
    EXPECT_EQ(axis, MemberAxis::kLeading);
  }
}

TEST(ArrayPassReport, ADenseConvolutionIsNoneOfThem) {
  Graph one = three();
  ArrayResult result = array_reported(
      table(), one,
      {.members = 3, .shared_inputs = {"x"}, .lowering = Lowering::kMember});
  std::vector<bool> dense;
  for (size_t i = 0; i < one.nodes().size(); ++i) {
    if (result.report.lowerings[i]) dense.push_back(result.report.dense[i]);
  }
  EXPECT_EQ(dense, (std::vector<bool>{true, false, false}));
  EXPECT_EQ(result.report.relayouts.size(), 1u);
}

// Per-channel operands, reductions and joins need not turn what is merged.
TEST(ArrayPassReport, WhatFollowsAConvolutionStaysMerged) {
  Graph one = graph_of(R"(
    slot "w" f32[4, 3, 1, 1] parameter constant(0.0)
    slot "c" f32[4, 1, 1] parameter constant(0.0)
    input %0 "x" f32[2, 3, 8, 8]
    %1: f32[4, 3, 1, 1] = read "w"
    %2: f32[2, 4, 8, 8] = \
      conv2d(%0, %1) {stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1}
    %3: f32[4, 1, 1] = read "c"
    %4: f32[2, 4, 8, 8] = mul(%2, %3)
    %5: f32[2, 4, 1, 1] = mean(%4) {dims=[2, 3], keep_dims=true}
    %6: f32[2, 4, 8, 8] = mul(%4, %5)
    %7: f32[2, 8, 8, 8] = cat(%4, %6) {dim=1}
    %8: f32[2, 8, 8] = amax(%7) {dims=[3], keep_dims=false}
    %9: f32[2, 8, 8] = softmax(%8) {dim=2}
    %10: f32[2, 8, 8] = relu(%9)
    output "y" %10
  )");
  ArrayPassReport report =
      array_reported(table(), one,
                     {.members = 3, .lowering = Lowering::kGrouped})
          .report;
  ASSERT_EQ(report.relayouts.size(), 2u);
  EXPECT_EQ(report.relayouts[1].value, one.find_output("y"));
}

TEST(ArrayPass, NormalisationOfMembersThatLeadNeedsNoTurn) {
  Graph one = graph_of(R"(
    slot "g" f32[4] parameter constant(1.0)
    input %0 "x" f32[8, 4]
    %1: f32[4] = read "g"
    %2: f32[8, 4], %3: f32[4], %4: f32[4] = \
      batch_norm(%0, %1) {training=true, momentum=0.1, eps=1e-05}
    output "y" %2
  )");
  ArrayResult result = array_reported(table(), one, {.members = 3});
  verify(result.graph);
  EXPECT_TRUE(result.report.relayouts.empty());
  EXPECT_EQ(node_of(result.graph, "batch_norm").attrs.integer("members"), 3);
}

}  // namespace
}  // namespace braid::passes
