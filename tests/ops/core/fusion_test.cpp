// What may be in a fusion, and how a fusion is written and read.
#include "braid/ops/core/fusion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "braid/graph/text.h"
#include "ops/one_node.h"

namespace braid {
namespace {

Node node_with(const std::string& op, const Attrs& attrs) {
  Node node;
  node.op = &table().at(op);
  node.attrs = attrs;
  return node;
}

bool may_fuse(const std::string& op, const Attrs& attrs = {}) {
  return fusion_step(node_with(op, attrs)).op != nullptr;
}

Attrs coded(const std::string& steps, const Ints& outputs) {
  return {{"steps", steps}, {"outputs", outputs}};
}

// The problem of a fusion of two inputs.
std::string problem(const std::string& steps, const Ints& outputs = {0}) {
  return problem_of("fusion", {f32({2, 3}), f32({3})}, coded(steps, outputs));
}

TEST(FusionOpsTest, EveryOneIsAnOpWithAsManyInputs) {
  for (const FusionOp& row : fusion_ops()) {
    const Op& op = table().at(row.name);
    EXPECT_EQ(op.max_inputs, row.operands) << row.name;
    EXPECT_FALSE(op.random || op.view || op.writes_slot) << row.name;
    EXPECT_EQ(find_fusion_op(row.name), &row);
  }
  EXPECT_EQ(find_fusion_op("dropout"), nullptr);
}

TEST(FusionOpsTest, AttributesDecide) {
  EXPECT_TRUE(may_fuse("add"));
  EXPECT_FALSE(may_fuse("matmul"));
  for (double power : {2.0, 3.0, 0.5, -0.5, -1.0}) {
    EXPECT_TRUE(may_fuse("pow_scalar", {{"value", power}})) << power;
  }
  EXPECT_FALSE(may_fuse("pow_scalar", {{"value", 1.5}}));
  EXPECT_TRUE(may_fuse("pow_scalar", {{"value", int64_t{2}}}));
  EXPECT_FALSE(may_fuse("gelu"));
  EXPECT_FALSE(may_fuse("gelu", {{"tanh", false}}));
  EXPECT_TRUE(may_fuse("gelu", {{"tanh", true}}));
  EXPECT_FALSE(may_fuse("add_scalar"));
  EXPECT_FALSE(may_fuse("add_scalar", {{"value", true}}));
}

TEST(FusionOpsTest, SomeAreForKernelsOfMixedTypesAlone) {
  auto mixed_step = [](const std::string& op, const Attrs& attrs) {
    const FusionOp* found = fusion_step(node_with(op, attrs), true).op;
    return std::string(found ? found->name : "");
  };
  EXPECT_FALSE(may_fuse("to", {{"dtype", "bf16"}}));
  EXPECT_EQ(mixed_step("to", {{"dtype", "bf16"}}), "to_bf16");
  EXPECT_EQ(mixed_step("to", {{"dtype", "i64"}}), "");
  EXPECT_EQ(mixed_step("gelu", {{"tanh", false}}), "gelu_erf");
  EXPECT_EQ(mixed_step("gelu", {{"tanh", true}}), "gelu");
  EXPECT_EQ(mixed_step("matmul", {}), "");
}

TEST(FusionOpsTest, StepsMakeTheTypeOfTheirOperands) {
  Attrs attrs = coded("to_f32(x0); mul(s0, x1); to_bf16(s1)", {0, 1, 2});
  Fusion fusion = read_fusion(attrs, 2);
  EXPECT_EQ(
      fusion_dtypes(fusion, {DType::kBFloat16, DType::kFloat32}),
      (std::vector<DType>{DType::kFloat32, DType::kFloat32, DType::kBFloat16}));
  EXPECT_THROW(fusion_dtypes(fusion, {DType::kBFloat16, DType::kBFloat16}),
               std::invalid_argument);
}

TEST(FusionOpsTest, MissingLimitsAreInfinite) {
  FusionStep step = fusion_step(node_with("clamp", {{"max", 6.0}}));
  ASSERT_NE(step.op, nullptr);
  EXPECT_EQ(step.numbers, (FusionOp::Numbers{-INFINITY, 6.0}));
  EXPECT_FALSE(may_fuse("clamp", {{"min", NAN}}));
}

TEST(FusionTextTest, ReadsWhatItWrites) {
  Fusion fusion;
  fusion.steps.push_back({find_fusion_op("add"), {{false, 0}, {false, 1}}});
  fusion.steps.push_back({find_fusion_op("mul_scalar"), {{true, 0}}, {0.1}});
  fusion.steps.push_back(
      {find_fusion_op("clamp"), {{true, 1}}, {-INFINITY, 1e-300}});
  fusion.outputs = {0, 2};
  Attrs attrs = fusion_attrs(fusion);
  EXPECT_EQ(attrs.text("steps"),
            "add(x0, x1); mul_scalar(s0, value=0.1); "
            "clamp(s1, min=-inf, max=1e-300)");
  Fusion again = read_fusion(attrs, 2);
  EXPECT_EQ(fusion_attrs(again), attrs);
  EXPECT_EQ(again.steps[2].operands, fusion.steps[2].operands);
  EXPECT_EQ(again.steps[2].numbers, fusion.steps[2].numbers);
}

TEST(FusionTextTest, SurvivesGraphText) {
  Graph graph = one_node("fusion", {f32({2, 3}), f32({3})},
                         coded("sub(x1, x0); tanh(s0)", {1}));
  std::string text = print_graph(graph);
  EXPECT_EQ(print_graph(parse_graph(text, table())), text);
}

TEST(FusionShapeTest, OutputsHaveTheShapeOfAllInputs) {
  EXPECT_EQ(outputs_of("fusion", {f64({4, 1}), f64({3}), f64({})},
                       coded("add(x0, x1); mul(s0, x2)", {0, 1})),
            "f64[4, 3] f64[4, 3]");
}

TEST(FusionShapeTest, OperandsOfAStepAreFloatsOfOneType) {
  Attrs attrs = coded("add(x0, x1)", {0});
  EXPECT_EQ(problem_of("fusion", {f32({3}), f64({3})}, attrs),
            "[fusion] step 0 'add' has operands of f32 and f64");
  Attrs cast_first = coded("to_f64(x0); add(s0, x1)", {0, 1});
  EXPECT_EQ(problem_of("fusion", {f32({3}), f64({3})}, cast_first), "");
  EXPECT_NE(problem_of("fusion", {i64({3}), i64({3})}, attrs), "");
  EXPECT_NE(problem_of("fusion", {f32({3}), f32({2})}, attrs), "");
  EXPECT_EQ(problem_of("fusion", {f32({3}), std::nullopt}, attrs),
            "[fusion] input 1 is missing");
}

TEST(FusionShapeTest, BadCodeIsAnError) {
  EXPECT_EQ(problem("add(x0, x1)"), "");
  EXPECT_EQ(
      problem("ad(x0, x1)"),
      "[fusion] cannot read step 0 \"ad(x0, x1)\": no such op may be in a "
      "fusion");
  EXPECT_EQ(problem("relu(x0); add(s0, s1)"),
            "[fusion] cannot read step 1 \"add(s0, s1)\": expected an input or "
            "an earlier step, as x0 or s0");
  for (const char* steps : {"",
                            ";",
                            "add",
                            "add(",
                            "add)",
                            "add()",
                            "add(x0)",
                            "add(x0, x1",
                            "add(x0, x1, x1)",
                            "add(x0, x2)",
                            "add(x0, x-1)",
                            "add(x0, y1)",
                            "add(x0, s0)",
                            "add(x, s)",
                            "relu(x0); relu(s1)",
                            "relu(x0);;",
                            "add(x0, x99999999999999999999)",
                            "mul_scalar(x0)",
                            "mul_scalar(x0, value)",
                            "mul_scalar(x0, value=)",
                            "mul_scalar(x0, valu=1)",
                            "mul_scalar(x0, value=one)",
                            "mul_scalar(x0, value=1, value=2)",
                            "pow_scalar(x0, value=7)",
                            "clamp(x0, min=nan, max=1)",
                            "matmul(x0, x1)"}) {
    EXPECT_TRUE(problem(steps).starts_with("[fusion] ")) << steps;
  }
}

TEST(FusionShapeTest, BadOutputsAreAnError) {
  const char* steps = "neg(x0); neg(s0); neg(s1); neg(s2); neg(s3)";
  EXPECT_EQ(problem(steps, {0, 4}), "");
  for (const Ints& outputs : std::vector<Ints>{
           {}, {-1}, {5}, {1, 1}, {1, 0}, {0, 1, 2, 3, 4}, {INT64_MIN}}) {
    EXPECT_NE(problem(steps, outputs), "") << shape_text(outputs);
  }
  EXPECT_NE(problem_of("fusion", {f32({2})}, {{"steps", "neg(x0)"}}), "");
  EXPECT_NE(problem_of("fusion", {f32({2})}, {{"outputs", Ints{0}}}), "");
}

TEST(FusionShapeTest, HasAtMostSoManySteps) {
  std::string steps = "neg(x0)";
  for (size_t i = 1; i < kMaxFusionSteps; ++i) steps += "; neg(x1)";
  EXPECT_EQ(problem(steps), "");
  EXPECT_EQ(problem(steps + "; neg(x1)"), "[fusion] more than 24 steps");
}

// Text in which some characters were replaced, lost or doubled.
std::string damaged(std::string text, std::mt19937& random) {
  const std::string_view pieces = "xs0129();,=.- einfa_";
  for (auto times = random() % 3 + 1; times > 0 && !text.empty(); --times) {
    size_t at = random() % text.size();
    switch (random() % 3) {
      case 0: text[at] = pieces[random() % pieces.size()]; break;
      case 1: text.erase(at, random() % 4); break;
      default:
        text.insert(at, text.substr(random() % text.size(), random() % 9));
    }
  }
  return text;
}

TEST(FusionShapeTest, DamagedCodeIsReadRightOrAnError) {
  std::mt19937 random(1);
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string steps = damaged(
        "add(x0, x1); mul_scalar(s0, value=0.5); "
        "clamp(s1, min=-inf, max=6); lerp(s0, s1, s2)",
        random);
    try {
      Attrs attrs = fusion_attrs(read_fusion(coded(steps, {0}), 2));
      EXPECT_EQ(fusion_attrs(read_fusion(attrs, 2)), attrs) << steps;
      ++taken;
    } catch (const std::invalid_argument&) {
    }
  }
  EXPECT_GT(taken, 100);
  EXPECT_LT(taken, 19000);
}

TEST(FusionCostTest, StepsAreCountedAndBytesOnce) {
  Graph graph = one_node("fusion", {f32({4, 5}), f32({5})},
                         coded("add(x0, x1); relu(s0); mul(s1, x0)", {2}));
  Cost cost = table().cost(graph, graph.node(0));
  EXPECT_EQ(cost.flops, 3 * 20);
  EXPECT_EQ(cost.bytes, 4 * (20 + 5 + 20));
}

}  // namespace
}  // namespace braid
