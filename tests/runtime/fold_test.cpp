// Constants run once: what stays, what becomes a slot, and that results are
// the same to the bit.
#include "braid/runtime/fold.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <stdexcept>

#include "braid/ops/build/functions.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/forward_run.h"
#include "passes/text_graphs.h"

namespace braid::runtime {
namespace {

using passes::count_op;
using passes::graph_of;
using passes::op_names;
using Names = std::vector<std::string>;

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> values_of(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Contents of constant slots by name.
using Contents = std::map<std::string, std::vector<std::byte>>;

Folded fold(const Graph& graph, const Contents& contents = {}) {
  Folded folded = fold_constants(table(), graph, [&](SlotId slot) {
    return contents.at(graph.slot(slot).name);
  });
  verify(folded.graph);
  EXPECT_EQ(folded.kept.size(), folded.graph.slots().size());
  return folded;
}

Names slot_names(const Graph& graph) {
  Names names;
  for (const Slot& slot : graph.slots()) names.push_back(slot.name);
  return names;
}

// All outputs of one run; each input is fed with 1, 2, 3, ...
std::vector<std::vector<std::byte>> run(
    const Graph& graph,
    const std::function<std::vector<std::byte>(SlotId)>& slots) {
  KernelTable kernels = cpu_kernels();
  CpuBackend backend(kernels, {});
  ForwardRun forward(table(), graph, backend);
  for (size_t i = 0; i < graph.slots().size(); ++i) {
    forward.state().write(static_cast<SlotId>(i),
                          slots(static_cast<SlotId>(i)));
  }
  std::vector<float> counting(64);
  for (size_t i = 0; i < counting.size(); ++i) {
    counting[i] = static_cast<float>(i + 1);
  }
  forward.executor().step([&](int64_t, ValueId) {
    return reinterpret_cast<const std::byte*>(counting.data());
  });
  std::vector<std::vector<std::byte>> results;
  for (const Output& output : graph.outputs()) {
    results.push_back(forward.executor().output(output.name));
  }
  return results;
}

// The slots that folding added.
std::vector<Slot> made(const Folded& folded) {
  std::vector<Slot> slots;
  for (const Slot& slot : folded.graph.slots()) {
    if (slot.content) slots.push_back(slot);
  }
  return slots;
}

// Folds, and expects that both graphs give the same bytes.
Folded expect_same(const Graph& graph, const Contents& contents = {}) {
  Folded folded = fold(graph, contents);
  auto before = run(
      graph, [&](SlotId slot) { return contents.at(graph.slot(slot).name); });
  auto after = run(folded.graph, [&](SlotId slot) {
    const Content& made = folded.graph.slot(slot).content;
    if (made) return *made.bytes;
    SlotId old = folded.kept.at(static_cast<size_t>(slot));
    return contents.at(graph.slot(old).name);
  });
  EXPECT_EQ(before, after);
  EXPECT_FALSE(before.empty());
  return folded;
}

TEST(FoldConstants, AFusionBecomesOneSlot) {
  Graph graph(table());
  Var x = input(graph, "x", {DType::kFloat32, {4}});
  Var count = arange(x, 0, 4, 1, DType::kFloat32);
  Var scale = full(x, {}, 2.5, DType::kFloat32);
  graph.add_output("y", add(x, mul(count, scale)).id);
  Folded folded = expect_same(graph);
  EXPECT_EQ(op_names(folded.graph), (Names{"read", "add"}));
  EXPECT_EQ(folded.kept, (std::vector<SlotId>{kNone}));
  std::vector<Slot> slots = made(folded);
  ASSERT_EQ(slots.size(), 1u);
  const Slot& slot = slots[0];
  EXPECT_EQ(slot.role, Role::kConstant);
  EXPECT_EQ(slot.dtype, DType::kFloat32);
  EXPECT_EQ(slot.shape, (Shape{4}));
  EXPECT_EQ(values_of<float>(*slot.content.bytes),
            (std::vector<float>{0, 2.5, 5, 7.5}));
}

TEST(FoldConstants, TypesAndBytesAreThoseOfTheValue) {
  Graph graph(table());
  Var x = input(graph, "x", {DType::kFloat32, {3}});
  Var index = arange(x, 2, -1, -1, DType::kInt64);
  Var wide = full(x, {2}, 0.1, DType::kFloat64);
  Var mask = full(x, {3}, 1, DType::kBool);
  graph.add_output("a", index_select(x, 0, index).id);
  graph.add_output("b", apply("copy", {wide}).id);
  graph.add_output("c", apply("copy", {mask}).id);
  Folded folded = expect_same(graph);
  std::map<DType, std::vector<std::byte>> bytes;
  for (const Slot& slot : made(folded)) {
    bytes[slot.dtype] = *slot.content.bytes;
  }
  ASSERT_EQ(bytes.size(), 3u);
  EXPECT_EQ(values_of<int64_t>(bytes.at(DType::kInt64)),
            (std::vector<int64_t>{2, 1, 0}));
  EXPECT_EQ(values_of<double>(bytes.at(DType::kFloat64)),
            (std::vector<double>{0.1, 0.1}));
  EXPECT_EQ(bytes.at(DType::kBool), std::vector<std::byte>(3, std::byte{1}));
}

TEST(FoldConstants, AFactoryHasTheTypeOfWhatItIsLike) {
  Graph graph = graph_of(R"(
    input %0 "x" f32[3]
    input %1 "wide" f64[3]
    %2: f64[2] = full(%1) {shape=[2], value=0.5}
    %3: f32[2] = full(%0) {shape=[2], value=0.5}
    %4: f64[2] = copy(%2)
    %5: f32[2] = copy(%3)
    output "a" %4
    output "b" %5
  )");
  Folded folded = expect_same(graph);
  std::vector<Slot> slots = made(folded);
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(values_of<double>(*slots[0].content.bytes),
            (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(values_of<float>(*slots[1].content.bytes),
            (std::vector<float>{0.5, 0.5}));
}

TEST(FoldConstants, WhatDependsOnAnInputStays) {
  Graph graph = graph_of(R"(
    input %0 "x" f32[3]
    %1: f32[3] = mul_scalar(%0) {value=2.0}
    %2: f32[3] = exp(%1)
    output "y" %2
  )");
  Folded folded = expect_same(graph);
  EXPECT_EQ(op_names(folded.graph), op_names(graph));
  EXPECT_TRUE(made(folded).empty());
}

TEST(FoldConstants, WhatDependsOnAParameterOrBufferStays) {
  Graph graph = graph_of(R"(
    slot "w" f32[2] parameter constant(1.0)
    slot "b" f32[2] buffer constant(1.0)
    input %0 "x" f32[2]
    %1: f32[2] = read "w"
    %2: f32[2] = read "b"
    %3: f32[2] = exp(%1)
    %4: f32[2] = add(%3, %2)
    %5: f32[2] = add(%4, %0)
    output "y" %5
  )");
  Folded folded =
      expect_same(graph, {{"w", bytes_of(std::vector<float>{1, 2})},
                          {"b", bytes_of(std::vector<float>{3, 4})}});
  EXPECT_EQ(op_names(folded.graph), op_names(graph));
  EXPECT_EQ(slot_names(folded.graph), (Names{"w", "b"}));
  EXPECT_EQ(folded.kept, (std::vector<SlotId>{0, 1}));
  EXPECT_TRUE(made(folded).empty());
}

TEST(FoldConstants, ConstantSlotsAreFoldedReadOrDropped) {
  Graph graph = graph_of(R"(
    slot "unused" f32[2] constant constant(0.0)
    slot "inside" f32[2] constant constant(0.0)
    slot "plain" f32[2] constant constant(0.0)
    slot "w" f32[2] parameter constant(1.0)
    input %0 "x" f32[2]
    %1: f32[2] = read "inside"
    %2: f32[2] = mul_scalar(%1) {value=3.0}
    %3: f32[2] = read "plain"
    %4: f32[2] = read "w"
    %5: f32[2] = add(%0, %2)
    %6: f32[2] = mul(%5, %3)
    %7: f32[2] = mul(%6, %4)
    output "y" %7
  )");
  Folded folded =
      expect_same(graph, {{"unused", bytes_of(std::vector<float>{9, 9})},
                          {"inside", bytes_of(std::vector<float>{1, 2})},
                          {"plain", bytes_of(std::vector<float>{5, 7})},
                          {"w", bytes_of(std::vector<float>{2, 4})}});
  const Graph& g = folded.graph;
  EXPECT_EQ(g.find_slot("unused"), kNone);
  EXPECT_EQ(g.find_slot("inside"), kNone);
  EXPECT_EQ(count_op(g, "mul_scalar"), 0);
  ASSERT_NE(g.find_slot("plain"), kNone);
  EXPECT_EQ(folded.kept[static_cast<size_t>(g.find_slot("plain"))], 2);
  EXPECT_EQ(folded.kept[static_cast<size_t>(g.find_slot("w"))], 3);
  std::vector<Slot> slots = made(folded);
  ASSERT_EQ(slots.size(), 1u);
  EXPECT_EQ(values_of<float>(*slots[0].content.bytes),
            (std::vector<float>{3, 6}));
}

TEST(FoldConstants, ConstantsThatNobodyNeedsAreNotRun) {
  Graph graph = graph_of(R"(
    slot "c" f32[2] constant constant(0.0)
    input %0 "x" f32[2]
    %1: f32[2] = read "c"
    %2: f32[2] = exp(%1)
    %3: f32[2] = neg(%0)
    output "y" %3
  )");
  auto never = [](SlotId) -> std::vector<std::byte> {
    throw std::logic_error("was read");
  };
  Folded folded = fold_constants(table(), graph, never);
  EXPECT_EQ(op_names(folded.graph), (Names{"neg"}));
  EXPECT_TRUE(folded.graph.slots().empty());
  EXPECT_TRUE(made(folded).empty());
}

TEST(FoldConstants, AnOutputMayBeConstant) {
  Graph graph(table());
  Var x = input(graph, "x", {DType::kFloat32, {2}});
  graph.add_output("y", full(x, {2}, 4, DType::kFloat32).id);
  graph.add_output("z", neg(x).id);
  Folded folded = fold(graph);
  std::vector<Slot> slots = made(folded);
  ASSERT_EQ(slots.size(), 1u);
  EXPECT_EQ(values_of<float>(*slots[0].content.bytes),
            (std::vector<float>{4, 4}));
  const Value& y = folded.graph.value(folded.graph.find_output("y"));
  EXPECT_EQ(folded.graph.node(y.producer).op->name, "read");
}

TEST(FoldConstants, OneConstantServesAllWhoReadIt) {
  Graph graph(table());
  Var x = input(graph, "x", {DType::kFloat32, {4}});
  Var twice = mul_scalar(arange(x, 0, 4, 1, DType::kFloat32), 2);
  graph.add_output("y", mul(add(x, twice), twice).id);
  Folded folded = expect_same(graph);
  EXPECT_EQ(made(folded).size(), 1u);
  EXPECT_EQ(count_op(folded.graph, "read"), 1);
}

TEST(FoldConstants, EqualContentsAreOneSlotWithOneNameEverywhere) {
  auto graph_for = [](int64_t rows) {
    Graph graph(table());
    Var x = input(graph, "x", {DType::kFloat32, {rows, 2}});
    graph.add_output("y", add(x, full(x, {2}, 3, DType::kFloat32)).id);
    graph.add_output("z", mul(x, full(x, {2}, 3, DType::kFloat32)).id);
    graph.add_output("w", add(x, full(x, {rows, 2}, 1, DType::kFloat32)).id);
    return expect_same(graph);
  };
  std::set<std::string> names;
  for (int64_t rows : {8, 8, 3}) {
    Folded folded = graph_for(rows);
    EXPECT_EQ(made(folded).size(), 2u);
    for (const Slot& slot : made(folded)) names.insert(slot.name);
  }
  EXPECT_EQ(names.size(), 3u);  // [2] of all, [8, 2] and [3, 2]
}

TEST(FoldConstants, LayersAndPhasesStay) {
  Graph graph(table());
  Var x = input(graph, "x", {DType::kFloat32, {4}});
  graph.set_path("blocks.1");
  graph.add_output("y", add(x, arange(x, 0, 4, 1, DType::kFloat32)).id);
  Folded folded = expect_same(graph);
  for (const Node& node : folded.graph.nodes()) {
    EXPECT_EQ(node.path, "blocks.1") << node.op->name;
  }
}

TEST(FoldConstants, LargeConstantsAreMadeInEveryStep) {
  Graph graph(table());
  Var x = input(graph, "x", {DType::kFloat32, {1}});
  Shape large{int64_t{17} << 20};  // 68 MiB
  graph.add_output("y", add(x, full(x, large, 1, DType::kFloat32)).id);
  Folded folded = fold(graph);
  EXPECT_TRUE(made(folded).empty());
  EXPECT_EQ(count_op(folded.graph, "full"), 1);
}

}  // namespace
}  // namespace braid::runtime
