#include <gtest/gtest.h>

#include "braid/ops/core/fusion.h"
#include "braid/ops/core/precision_rows.h"
#include "one_node.h"
#include "thrown.h"

namespace braid {
namespace {

std::string unknown_op_message(const std::string& name) {
  return thrown_by([&] { table().at(name); });
}

TEST(OpTableTest, UnknownOpsNameTheNearest) {
  EXPECT_EQ(unknown_op_message("linaer"),
            "[ops] unknown op 'linaer'\nHINT: did you mean 'linear'?");
  EXPECT_NE(unknown_op_message("batchnorm").find("'batch_norm'"),
            std::string::npos);
  EXPECT_EQ(table().find("linaer"), nullptr);
  EXPECT_EQ(table().find("linear")->name, "linear");
}

TEST(OpTableTest, ANameIsTakenOnce) {
  OpTable ops = standard_ops();
  EXPECT_THROW(ops.add({.name = "relu", .summary = ""}), std::invalid_argument);
  ops.add({.name = "mine", .summary = "", .shape = table().at("relu").shape});
  EXPECT_EQ(ops.at("mine").name, "mine");
}

TEST(OpTableTest, EveryOpSaysWhatItDoesAndWhatItYields) {
  for (const auto& [name, op] : table().all()) {
    EXPECT_EQ(op.name, name);
    EXPECT_FALSE(op.summary.empty()) << name;
    EXPECT_TRUE(op.shape) << name;
    EXPECT_LE(op.min_inputs, op.max_inputs) << name;
  }
}

TEST(OpTableTest, DifferentiableOpsHaveArrayRulesWithATrait) {
  for (const auto& [name, op] : table().all()) {
    EXPECT_TRUE(op.array || !op.vjp) << name;
    EXPECT_EQ(op.array_rule == ArrayRule::kNone, !op.array) << name;
  }
}

TEST(OpTableTest, InPlacePairsNameInputsThatExist) {
  for (const auto& [name, op] : table().all()) {
    for (const InPlace& pair : op.in_place) {
      EXPECT_LT(pair.input, op.max_inputs) << name;
    }
  }
}

TEST(OpTableTest, OnlyDropoutIsRandomAndOnlyTwoOpsWriteSlots) {
  for (const auto& [name, op] : table().all()) {
    EXPECT_EQ(op.random, name == "dropout") << name;
    EXPECT_EQ(op.writes_slot, name == "assign" || name == "accumulate") << name;
  }
}

TEST(OpTableTest, FactsAreThoseOfTheLists) {
  for (const auto& [name, op] : table().all()) {
    EXPECT_EQ(op.fusible, find_fusion_op(name)) << name;
    EXPECT_EQ(op.precision, precision_of(name)) << name;
    EXPECT_EQ(op.uses_slot(), op.is(OpKind::kRead) || op.writes_slot) << name;
    EXPECT_TRUE(!op.fusible || op.pointwise) << name;
    bool is_conv = op.is(OpKind::kConvolution) ||
                   op.is(OpKind::kTransposedConvolution) ||
                   op.is(OpKind::kConvolutionBackward);
    EXPECT_EQ(is_conv, name.starts_with("conv")) << name;
  }
  for (const FusionOp& op : fusion_ops()) EXPECT_TRUE(table().find(op.name));
}

// Structural kinds have one op each, since passes make them by their kind.
TEST(OpTableTest, KindsNameWhatTheySay) {
  const std::pair<OpKind, const char*> kinds[] = {
      {OpKind::kRead, "read"},
      {OpKind::kAssign, "assign"},
      {OpKind::kAccumulate, "accumulate"},
      {OpKind::kReshape, "reshape"},
      {OpKind::kView, "view"},
      {OpKind::kCopy, "copy"},
      {OpKind::kPermute, "permute"},
      {OpKind::kSlice, "slice"},
      {OpKind::kSliceBackward, "slice_backward"},
      {OpKind::kCast, "to"},
      {OpKind::kRelu, "relu"},
      {OpKind::kBatchNorm, "batch_norm"},
      {OpKind::kGroupNorm, "group_norm"},
      {OpKind::kDropout, "dropout"},
      {OpKind::kEmbedding, "embedding"},
      {OpKind::kCrossEntropy, "cross_entropy_loss"},
      {OpKind::kNllLoss, "nll_loss"},
      {OpKind::kClipValue, "clip_value"},
      {OpKind::kForeign, "torch_op"},
      {OpKind::kForeignBackward, "torch_op_backward"}};
  for (const auto& [kind, name] : kinds) {
    for (const auto& [known, op] : table().all()) {
      EXPECT_EQ(op.is(kind), known == name) << known;
    }
  }
}

TEST(OpTableTest, OpsStayWhereTheyAreWhenATableMoves) {
  OpTable first = standard_ops();
  const Op* relu = first.find("relu");
  OpTable second = std::move(first);
  EXPECT_EQ(second.find("relu"), relu);
  EXPECT_EQ(&second.own(*relu), relu);
  EXPECT_EQ(&table().own(*relu), table().find("relu"));
}

// Tables may have ops that others lack, and the same ones in another order.
TEST(OpTableTest, OpsOfOtherTablesAreFoundByName) {
  OpTable ops;
  ops.add({.name = "mine", .summary = "", .shape = table().at("relu").shape});
  ops.add({.name = "relu", .summary = "", .shape = table().at("relu").shape});
  EXPECT_EQ(&ops.own(table().at("relu")), ops.find("relu"));
  EXPECT_THROW(table().own(ops.at("mine")), std::invalid_argument);
}

TEST(OpTableTest, ErrorsNameTheLayer) {
  Graph graph(table());
  ValueId x = graph.add_input("x", f32({2, 3}));
  PathScope scope(graph, "blocks.0");
  try {
    graph.add("reshape", {x}, {{"shape", Ints{7}}});
    FAIL() << "took a shape that does not fit";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()),
              "[reshape at blocks.0] [7] does not hold the elements of "
              "[2, 3]");
  }
}

}  // namespace
}  // namespace braid
