// What autocast did, from the types that a file tells.
#include "braid/io/pt2/autocast.h"

#include <gtest/gtest.h>

namespace braid::io::pt2 {
namespace {

using Kind = Argument::Kind;

// The exporter's numbers of dtypes.
constexpr int64_t kLong = 5, kHalf = 6, kFloat = 7, kDouble = 8, kBfloat = 13;

// aten.NAME on tensors of these types with a result of that one.
WorkTypes types_of(const std::string& name, const std::vector<int64_t>& inputs,
                   int64_t result, bool as_list = false) {
  ExportedGraph graph;
  ExportedNode node;
  node.target = "torch.ops.aten." + name + ".default";
  Argument list{.kind = Kind::kList};
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string value = "x" + std::to_string(i);
    graph.tensors[value].type = inputs[i];
    Argument tensor{.kind = Kind::kTensor, .text = value};
    if (as_list) {
      list.list.push_back(tensor);
    } else {
      node.inputs.push_back({value, tensor});
    }
  }
  if (as_list) node.inputs.push_back({"tensors", list});
  graph.tensors["y"].type = result;
  node.outputs.push_back({.kind = Kind::kTensor, .text = "y"});
  return work_types(node, graph);
}

TEST(WorkTypes, ProductsWorkInTheTypeOfTheirResult) {
  for (int64_t narrow : {kBfloat, kHalf}) {
    DType want = *exported_dtype(narrow);
    EXPECT_EQ(types_of("linear", {kFloat, kFloat}, narrow).inputs, want);
    EXPECT_EQ(types_of("conv2d", {narrow, kFloat}, narrow).inputs, want);
    EXPECT_EQ(types_of("addmm_", {kFloat, kFloat}, narrow).inputs, want);
    EXPECT_EQ(types_of("einsum", {kFloat, kFloat}, narrow, true).inputs, want);
    EXPECT_FALSE(types_of("linear", {kFloat, kFloat}, narrow).result);
  }
}

TEST(WorkTypes, WideResultsOfNarrowValuesAreWorkedOutWide) {
  EXPECT_EQ(types_of("softmax", {kBfloat}, kFloat).inputs, DType::kFloat32);
  EXPECT_EQ(types_of("mse_loss", {kHalf, kFloat}, kFloat).inputs,
            DType::kFloat32);
  EXPECT_EQ(types_of("layer_norm", {kHalf, kFloat}, kFloat).inputs,
            DType::kFloat32);
}

TEST(WorkTypes, NormsOfNarrowValuesKeepWideStatistics) {
  WorkTypes types = types_of("batch_norm", {kBfloat, kFloat}, kBfloat);
  EXPECT_EQ(types.inputs, DType::kFloat32);
  EXPECT_EQ(types.result, DType::kBFloat16);
}

TEST(WorkTypes, WithoutAutocastNothingIsCast) {
  auto is_plain = [](const WorkTypes& t) { return !t.inputs && !t.result; };
  EXPECT_TRUE(is_plain(types_of("linear", {kFloat, kFloat}, kFloat)));
  EXPECT_TRUE(is_plain(types_of("linear", {kBfloat, kBfloat}, kBfloat)));
  EXPECT_TRUE(is_plain(types_of("mul", {kBfloat, kFloat}, kBfloat)));
  EXPECT_TRUE(is_plain(types_of("layer_norm", {kBfloat}, kBfloat)));
  EXPECT_TRUE(is_plain(types_of("to", {kBfloat}, kFloat)));
  EXPECT_TRUE(is_plain(types_of("linear", {kDouble, kDouble}, kDouble)));
  EXPECT_TRUE(is_plain(types_of("argmax", {kBfloat}, kLong)));
  EXPECT_TRUE(is_plain(types_of("relu", {}, kFloat)));
}

TEST(WorkTypes, OnlyOperatorsOfTorchAreRead) {
  ExportedNode node;
  node.target = "_operator.add";
  EXPECT_FALSE(work_types(node, {}).inputs);
}

}  // namespace
}  // namespace braid::io::pt2
