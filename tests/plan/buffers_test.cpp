#include "braid/plan/buffers.h"

#include <gtest/gtest.h>

#include "braid/passes/rewrite/layout.h"
#include "passes/text_graphs.h"

namespace braid::plan {
namespace {

using passes::graph_of;
using passes::node_of;

// The buffers of a laid-out graph; values are found by output name or op.
struct Found {
  explicit Found(const std::string& statements)
      : graph(passes::layout(table(), graph_of(statements))),
        buffers(find_buffers(table(), graph)) {}

  BufferId input(const std::string& name) const {
    return buffers.of(graph.find_input(name));
  }
  BufferId made_by(const std::string& op, int n = 0, size_t output = 0) const {
    return buffers.of(node_of(graph, op, n).outputs[output]);
  }

  Graph graph;
  Buffers buffers;
};

TEST(Buffers, AResultTakesOverWhatNobodyReadsAnyMore) {
  Found f(R"(
    input %0 "x" f32[4]
    %1: f32[4] = exp(%0)
    %2: f32[4] = neg(%1)
    %3: f32[4] = tanh(%2)
    output "y" %3
  )");
  EXPECT_EQ(f.made_by("neg"), f.made_by("exp"));
  EXPECT_EQ(f.made_by("tanh"), f.made_by("exp"));
  EXPECT_EQ(f.buffers.at(f.made_by("exp")).writers.size(), 3u);
  EXPECT_TRUE(f.buffers.at(f.made_by("exp")).is_output);
  EXPECT_EQ(f.buffers.at(f.made_by("exp")).bytes, 16);
}

TEST(Buffers, InputsAreNeverOverwritten) {
  Found f(R"(
    input %0 "x" f32[4]
    %1: f32[4] = exp(%0)
    output "y" %1
  )");
  EXPECT_NE(f.made_by("exp"), f.input("x"));
  EXPECT_TRUE(f.buffers.at(f.input("x")).is_input);
}

TEST(Buffers, OutputsAreNeverOverwritten) {
  Found f(R"(
    input %0 "x" f32[4]
    %1: f32[4] = exp(%0)
    %2: f32[4] = neg(%1)
    output "y" %1
    output "z" %2
  )");
  EXPECT_NE(f.made_by("neg"), f.made_by("exp"));
}

TEST(Buffers, WhatIsReadLaterIsNotOverwritten) {
  Found f(R"(
    input %0 "x" f32[4]
    %1: f32[4] = exp(%0)
    %2: f32[4] = neg(%1)
    %3: f32[4] = mul(%2, %1)
    output "y" %3
  )");
  EXPECT_NE(f.made_by("neg"), f.made_by("exp"));
  EXPECT_EQ(f.made_by("mul"), f.made_by("neg"));
}

TEST(Buffers, AViewThatIsReadLaterProtectsItsBase) {
  Found f(R"(
    input %0 "x" f32[4, 2]
    %1: f32[4, 2] = exp(%0)
    %2: f32[2, 4] = permute(%1) {dims=[1, 0]}
    %3: f32[4, 2] = neg(%1)
    %4: f32[2, 4] = tanh(%2)
    output "y" %3
    output "z" %4
  )");
  EXPECT_EQ(f.buffers.of(node_of(f.graph, "permute").outputs[0]),
            f.made_by("exp"));
  EXPECT_NE(f.made_by("neg"), f.made_by("exp"));
}

TEST(Buffers, OtherStridesAreNotWrittenInPlace) {
  Found f(R"(
    input %0 "x" f32[4, 4]
    %1: f32[4, 4] = exp(%0)
    %2: f32[4, 4] = permute(%1) {dims=[1, 0]}
    %3: f32[4, 4] = neg(%2)
    output "y" %3
  )");
  EXPECT_NE(f.made_by("neg"), f.made_by("exp"));
}

TEST(Buffers, PartsAndRepetitionsAreNotWrittenInPlace) {
  Found f(R"(
    input %0 "x" f32[4]
    %1: f32[4] = exp(%0)
    %2: f32[2] = slice(%1) {dim=0, start=0, end=2, step=1}
    %3: f32[2] = neg(%2)
    %4: f32[4] = tanh(%0)
    %5: f32[3, 4] = expand(%4) {shape=[3, 4]}
    %6: f32[3, 4] = sqrt(%5)
    output "y" %3
    output "z" %6
  )");
  EXPECT_NE(f.made_by("neg"), f.made_by("exp"));
  EXPECT_NE(f.made_by("sqrt"), f.made_by("tanh"));
  EXPECT_EQ(f.buffers.at(f.made_by("tanh")).bytes, 16);
}

TEST(Buffers, TwoOperandsInOneMemoryMustBeTheSameValue) {
  Found f(R"(
    input %0 "x" f32[4, 4]
    %1: f32[4, 4] = exp(%0)
    %2: f32[4, 4] = mul(%1, %1)
    %3: f32[4, 4] = permute(%2) {dims=[1, 0]}
    %4: f32[4, 4] = add(%2, %3)
    output "y" %4
  )");
  EXPECT_EQ(f.made_by("mul"), f.made_by("exp"));
  EXPECT_NE(f.made_by("add"), f.made_by("mul"));
}

TEST(Buffers, ABroadcastOperandIsNotWritten) {
  Found f(R"(
    input %0 "x" f32[4, 4]
    %1: f32[4, 4] = exp(%0)
    %2: f32[4] = sum(%0) {dims=[0], keep_dims=false}
    %3: f32[4, 4] = add(%2, %1)
    output "y" %3
  )");
  EXPECT_EQ(f.made_by("add"), f.made_by("exp"));
}

const char* kUpdate = R"(
  slot "p" f32[3] parameter constant(0.0)
  slot "m" f32[3] optimizer constant(0.0)
  slot "n" i64[] counter constant(0.0)
  slot "h" f64[] hyper constant(0.0)
  input %0 "g" f32[3]
  %1: f32[3] = read "p"
  %2: f32[3] = read "m"
  %3: i64[] = read "n"
  %4: f64[] = read "h"
  %5: f32[3], %6: f32[3] = \
    sgd_update(%1, %0, %2, %3, %4, %4, %4, %4) {nesterov=false} update
)";

TEST(Buffers, AnUpdateIsMadeInTheSlotsItIsAssignedTo) {
  Found f(kUpdate + std::string("assign \"p\" (%5) update\n"
                                "assign \"m\" (%6) update\n"));
  const Node& update = node_of(f.graph, "sgd_update");
  EXPECT_EQ(f.buffers.of(update.outputs[0]), f.buffers.of(update.inputs[0]));
  EXPECT_EQ(f.buffers.of(update.outputs[1]), f.buffers.of(update.inputs[2]));
  for (int n : {0, 1}) {
    EXPECT_TRUE(is_assigned_in_place(f.graph, f.buffers,
                                     node_of(f.graph, "assign", n)));
  }
}

TEST(Buffers, ASlotIsNotOverwrittenByWhatIsNotAssignedToIt) {
  Found crossed(kUpdate + std::string("assign \"p\" (%6) update\n"
                                      "assign \"m\" (%5) update\n"));
  const Node& update = node_of(crossed.graph, "sgd_update");
  EXPECT_EQ(crossed.buffers.at(crossed.buffers.of(update.outputs[0])).slot,
            kNone);
  EXPECT_FALSE(is_assigned_in_place(crossed.graph, crossed.buffers,
                                    node_of(crossed.graph, "assign")));
  Found none(std::string(kUpdate) + "output \"y\" %5");
  EXPECT_NE(none.made_by("sgd_update"), none.made_by("read"));
}

TEST(Buffers, ASlotReadLaterIsNotOverwritten) {
  Found f(kUpdate + std::string("assign \"p\" (%5) update\n"
                                "%7: f32[3] = neg(%1) update\n"
                                "output \"old\" %7"));
  EXPECT_NE(f.made_by("sgd_update"), f.made_by("read"));
}

TEST(Buffers, ReadsOfOneSlotAreOneBuffer) {
  Found f(R"(
    slot "w" f32[3] parameter constant(0.0)
    %0: f32[3] = read "w"
    %1: f32[3] = read "w"
    %2: f32[3] = mul(%0, %1)
    output "y" %2
  )");
  EXPECT_EQ(f.made_by("read", 0), f.made_by("read", 1));
  EXPECT_EQ(f.buffers.at(f.made_by("read")).slot, 0);
  EXPECT_NE(f.made_by("mul"), f.made_by("read"));
}

TEST(Buffers, UsersAreInOrderAndViewsAreNone) {
  Found f(R"(
    input %0 "x" f32[4, 2]
    %1: f32[4, 2] = exp(%0)
    %2: f32[2, 4] = permute(%1) {dims=[1, 0]}
    %3: f32[2, 4] = tanh(%2)
    output "y" %3
  )");
  EXPECT_EQ(f.buffers.at(f.made_by("exp")).users, (std::vector<NodeId>{0, 2}));
}

// Elements of one operand land elsewhere in the other.
TEST(Buffers, OnlyPointwiseOpsOverwriteAValueThatTheyReadTwice) {
  Found f(R"(
    input %0 "x" f32[4]
    input %1 "places" i64[4]
    %2: f32[4] = exp(%0)
    %3: f32[4] = scatter_add(%2, %1, %2) {dim=0}
    %4: f32[4] = mul(%3, %3)
    output "y" %4
  )");
  EXPECT_NE(f.made_by("scatter_add"), f.made_by("exp"));
  EXPECT_EQ(f.made_by("mul"), f.made_by("scatter_add"));
}

}  // namespace
}  // namespace braid::plan
