#include <gtest/gtest.h>

#include "one_node.h"

namespace braid {
namespace {

std::string unknown_op_message(const std::string& name) {
  try {
    table().at(name);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
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
    EXPECT_EQ(op.trait.empty(), !op.array) << name;
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
  EXPECT_TRUE(table().is_random("dropout"));
  EXPECT_FALSE(table().is_random("no such op"));
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
