#include "braid/passes/rewrite/precision.h"

#include "braid/ops/core/precision_rows.h"

#include <gtest/gtest.h>

#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

constexpr DType kF32 = DType::kFloat32;
constexpr DType kBF16 = DType::kBFloat16;

Graph lowered(const Graph& graph) {
  Graph result = lower_precision(table(), graph, {.compute = kBF16});
  verify(result);
  return result;
}

std::vector<DType> input_types(const Graph& graph, const Node& node) {
  std::vector<DType> types;
  for (ValueId id : node.inputs) types.push_back(graph.value(id).type.dtype);
  return types;
}

DType result_type(const Graph& graph, const std::string& op, int n = 0) {
  return graph.value(node_of(graph, op, n).outputs[0]).type.dtype;
}

const char* kClassifier = R"(
slot "w" f32[3, 4] parameter constant(0.0)
slot "b" f32[3] parameter constant(0.0)
input %0 "x" f32[2, 4]
input %1 "y" i64[2]
%2: f32[3, 4] = read "w" @"fc"
%3: f32[3] = read "b" @"fc"
%4: f32[2, 3] = linear(%0, %2, %3) @"fc"
%5: f32[2, 3] = relu(%4)
%6: f32[], %7: f32[2], %8: f32[] = cross_entropy_loss(%5, %1) \
{label_smoothing=0.0}
output "loss" %6
output "scores" %5
)";

TEST(PrecisionTest, ProductsAreNarrowAndLossesAreNot) {
  Graph graph = lowered(graph_of(kClassifier));
  EXPECT_EQ(op_names(graph), (std::vector<std::string>{
                                 "read", "read", "to", "to", "to", "linear",
                                 "relu", "to", "cross_entropy_loss"}));
  EXPECT_EQ(input_types(graph, node_of(graph, "linear")),
            std::vector(3, kBF16));
  EXPECT_EQ(result_type(graph, "relu"), kBF16);
  EXPECT_EQ(
      graph.value(node_of(graph, "cross_entropy_loss").inputs[0]).type.dtype,
      kF32);
}

TEST(PrecisionTest, CastsBelongToTheLayerThatWantsThem) {
  Graph graph = lowered(graph_of(kClassifier));
  EXPECT_EQ(node_of(graph, "to", 1).path, "fc");
  EXPECT_EQ(node_of(graph, "to", 3).path, "");
}

TEST(PrecisionTest, SlotsInputsAndOutputsKeepTheirTypes) {
  Graph before = graph_of(kClassifier), after = lowered(before);
  EXPECT_EQ(after.slots(), before.slots());
  for (const char* name : {"x", "y"}) {
    EXPECT_EQ(after.value(after.find_input(name)).type,
              before.value(before.find_input(name)).type);
  }
  for (const char* name : {"loss", "scores"}) {
    EXPECT_EQ(type_of_output(after, name), type_of_output(before, name));
  }
}

TEST(PrecisionTest, AnF32ResultIsAskedForOnce) {
  Graph graph = lowered(graph_of(kClassifier));
  // The loss reads the same cast that is the output "scores".
  EXPECT_EQ(graph.find_output("scores"),
            node_of(graph, "cross_entropy_loss").inputs[0]);
}

TEST(PrecisionTest, AParameterIsCastOnceHoweverOftenItIsRead) {
  Graph graph = lowered(graph_of(R"(
slot "w" f32[4, 4] parameter constant(0.0)
input %0 "x" f32[2, 4]
%1: f32[4, 4] = read "w"
%2: f32[2, 4] = linear(%0, %1)
%3: f32[4, 4] = read "w"
%4: f32[2, 4] = linear(%2, %3)
%5: f32[2, 4] = linear(%4, %1)
%6: f32[] = sum(%5) {dims=[0, 1], keep_dims=false}
output "loss" %6
)"));
  EXPECT_EQ(count_op(graph, "to"), 3);  // x, w, and the operand of sum
  ValueId narrow = node_of(graph, "linear").inputs[1];
  for (int n : {1, 2}) {
    EXPECT_EQ(node_of(graph, "linear", n).inputs[1], narrow);
  }
}

TEST(PrecisionTest, OtherOpsTakeTheWidestTypeOfTheirOperands) {
  Graph graph = lowered(graph_of(R"(
slot "w" f32[4, 4] parameter constant(0.0)
input %0 "x" f32[4, 4]
%1: f32[4, 4] = read "w"
%2: f32[4, 4] = matmul(%0, %1)
%3: f32[4, 4] = mul(%2, %2)
%4: f32[4, 4] = add(%3, %0)
%5: f32[4, 8] = cat(%2, %4) {dim=1}
%6: f32[] = mean(%5) {dims=[0, 1], keep_dims=false}
output "loss" %6
)"));
  EXPECT_EQ(result_type(graph, "mul"), kBF16);
  EXPECT_EQ(result_type(graph, "add"), kF32);
  EXPECT_EQ(input_types(graph, node_of(graph, "cat")), std::vector(2, kF32));
}

TEST(PrecisionTest, BatchNormIsFullInsideAndItsBuffersStay) {
  Graph graph = lowered(graph_of(R"(
slot "k" f32[3, 2, 1, 1] parameter constant(0.0)
slot "mean" f32[3] buffer constant(0.0)
slot "var" f32[3] buffer constant(1.0)
input %0 "x" f32[2, 2, 4, 4]
%1: f32[3, 2, 1, 1] = read "k"
%2: f32[2, 3, 4, 4] = conv2d(%0, %1) \
{dilation=[1, 1], groups=1, padding=[0, 0], stride=[1, 1]}
%3: f32[3] = read "mean"
%4: f32[3] = read "var"
%5: f32[2, 3, 4, 4], %6: f32[3], %7: f32[3], %8: f32[3], %9: f32[3] = \
batch_norm(%2, _, _, %3, %4) {eps=1e-05, momentum=0.1, training=true}
assign "mean" (%8)
assign "var" (%9)
%10: f32[2, 3, 4, 4] = relu(%5)
%11: f32[] = sum(%10) {dims=[0, 1, 2, 3], keep_dims=false}
output "loss" %11
)"));
  EXPECT_EQ(result_type(graph, "conv2d"), kBF16);
  EXPECT_EQ(result_type(graph, "batch_norm"), kF32);
  EXPECT_EQ(result_type(graph, "relu"), kBF16);
  EXPECT_EQ(count_op(graph, "assign"), 2);
}

TEST(PrecisionTest, BuffersAreAssignedInTheirOwnType) {
  Graph graph = lowered(graph_of(R"(
slot "w" f32[4, 4] parameter constant(0.0)
slot "last" f32[4, 4] buffer constant(0.0)
slot "hint" bf16[4, 4] buffer constant(0.0)
input %0 "x" f32[4, 4]
%1: f32[4, 4] = read "w"
%2: f32[4, 4] = matmul(%0, %1)
assign "last" (%2)
%3: bf16[4, 4] = to(%2) {dtype="bf16"}
assign "hint" (%3)
%4: f32[] = sum(%2) {dims=[0, 1], keep_dims=false}
output "loss" %4
)"));
  EXPECT_EQ(input_types(graph, node_of(graph, "assign", 0)),
            std::vector(1, kF32));
  EXPECT_EQ(input_types(graph, node_of(graph, "assign", 1)),
            std::vector(1, kBF16));
}

TEST(PrecisionTest, IntegersAndF64StayAsTheyAre) {
  Graph graph = lowered(graph_of(R"(
slot "w" f32[4] parameter constant(0.0)
input %0 "x" f64[4]
input %1 "n" i64[4]
%2: f32[4] = read "w"
%3: f64[4] = add(%2, %0)
%4: i64[4] = add(%1, %1)
%5: f64[4] = mul(%3, %4)
%6: f64[] = sum(%5) {dims=[0], keep_dims=false}
output "loss" %6
)"));
  EXPECT_EQ(count_op(graph, "to"), 0);
  EXPECT_EQ(type_of_output(graph, "loss").dtype, DType::kFloat64);
}

TEST(PrecisionTest, AModelInF64IsRefused) {
  Graph graph = graph_of(R"(
slot "w" f64[4] parameter constant(0.0)
%0: f64[4] = read "w"
%1: f64[] = sum(%0) {dims=[0], keep_dims=false}
output "loss" %1
)");
  try {
    lowered(graph);
    FAIL() << "took a model in f64";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()),
              "[precision] bf16 needs parameters in f32; 'w' is f64\n"
              "HINT: make the model in f32, or leave the precision out");
  }
  EXPECT_THROW(lower_precision(table(), graph, {.compute = DType::kInt64}),
               std::invalid_argument);
}

TEST(PrecisionTest, F32ChangesNothing) {
  Graph graph = graph_of(kClassifier);
  EXPECT_EQ(print_graph(lower_precision(table(), graph, {.compute = kF32})),
            print_graph(graph));
}

TEST(PrecisionTest, LoweringTwiceIsLoweringOnce) {
  Graph once = lowered(graph_of(kClassifier));
  EXPECT_EQ(print_graph(lowered(once)), print_graph(once));
}

TEST(PrecisionTest, RowsNameOpsThatExist) {
  EXPECT_EQ(precision_of("linear"), Precision::kLow);
  EXPECT_EQ(precision_of("softmax"), Precision::kFull);
  EXPECT_EQ(precision_of("batch_norm"), Precision::kFullInside);
  EXPECT_EQ(precision_of("gelu"), Precision::kFollow);
  for (const PrecisionRow& row : precision_rows()) {
    EXPECT_NE(table().find(row.op), nullptr) << row.op;
  }
}

}  // namespace
}  // namespace braid::passes
