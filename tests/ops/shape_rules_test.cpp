// What every op family yields, and what it refuses: a message that begins with
// the op and tells the problem.
#include <gtest/gtest.h>

#include <limits>

#include "one_node.h"

namespace braid {
namespace {

constexpr int64_t kHuge = int64_t{1} << 62;
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

struct Good {
  const char* op;
  InputTypes inputs;
  Attrs attrs;
  const char* outputs;
};

struct Bad {
  const char* op;
  InputTypes inputs;
  Attrs attrs;
  const char* problem;  // a part of the message
};

Attrs conv_attrs(Ints stride = {1, 1}, Ints padding = {0, 0},
                 Ints dilation = {1, 1}, int64_t groups = 1) {
  return {{"stride", stride},
          {"padding", padding},
          {"dilation", dilation},
          {"groups", groups}};
}

Attrs pool_attrs(Ints kernel, Ints stride, Ints padding = {0, 0}) {
  return {{"kernel", kernel}, {"stride", stride}, {"padding", padding}};
}

Attrs slice_attrs(int64_t dim, int64_t start, int64_t end, int64_t step) {
  return {{"dim", dim}, {"start", start}, {"end", end}, {"step", step}};
}

Attrs dims_attrs(Ints dims, bool keep) {
  return {{"dims", dims}, {"keep_dims", keep}};
}

Attrs members(int64_t count) { return {{"members", count}}; }

Attrs members_and(int64_t count, Attrs attrs) {
  return attrs.set("members", count);
}

InputTypes dropout_inputs(ValueType x, Shape per_member) {
  return {x, f64(per_member), i64(per_member), i64(per_member), i64({})};
}

InputTypes sgd_inputs(ValueType p, ValueType g) {
  return {p, g, p, i64({}), f64({}), f64({}), f64({}), f64({})};
}

void expect_all(const std::vector<Good>& rows) {
  for (const Good& row : rows) {
    SCOPED_TRACE(row.op);
    EXPECT_EQ(outputs_of(row.op, row.inputs, row.attrs), row.outputs);
  }
}

void expect_all(const std::vector<Bad>& rows) {
  for (const Bad& row : rows) {
    std::string problem = problem_of(row.op, row.inputs, row.attrs);
    EXPECT_TRUE(problem.starts_with(std::string("[") + row.op))
        << row.op << ", wanted: " << row.problem << "\n got: " << problem;
    EXPECT_NE(problem.find(row.problem), std::string::npos)
        << row.op << ", wanted: " << row.problem << "\n got: " << problem;
  }
}

TEST(ShapeRules, Pointwise) {
  expect_all(std::vector<Good>{
      {"add", {f32({4, 3}), f32({3})}, {}, "f32[4, 3]"},
      {"mul", {f32({4, 1}), f32({1, 3})}, {}, "f32[4, 3]"},
      {"div", {f64({}), f64({0, 2})}, {}, "f64[0, 2]"},
      {"relu", {f32({2, 0})}, {}, "f32[2, 0]"},
      {"gelu", {f64({7})}, {{"tanh", true}}, "f64[7]"},
      {"add_scalar", {i64({})}, {{"value", int64_t{1}}}, "i64[]"},
      {"sub", {f32({4}), f64({4})}, {}, "f64[4]"},
      {"tanh_backward", {f32({5}), f32({5})}, {}, "f32[5]"}});
  expect_all(std::vector<Bad>{
      {"add", {f32({4, 3}), f32({4})}, {}, "do not broadcast"},
      {"mul", {f32({4})}, {}, "takes 2 to 2 inputs, got 1"},
      {"div", {f32({4}), std::nullopt}, {}, "input 1 is missing"},
      {"relu", {std::nullopt}, {}, "input 0 is missing"},
      {"exp", {f32({1}), f32({1})}, {}, "takes 1 to 1 inputs, got 2"}});
}

TEST(ShapeRules, ViewsAndRearrangements) {
  expect_all(std::vector<Good>{
      {"reshape", {f32({4, 3})}, {{"shape", Ints{2, 6}}}, "f32[2, 6]"},
      {"reshape", {f32({0, 3})}, {{"shape", Ints{7, 0}}}, "f32[7, 0]"},
      {"permute", {f32({2, 3, 4})}, {{"dims", Ints{2, 0, 1}}}, "f32[4, 2, 3]"},
      {"expand", {f32({3, 1})}, {{"shape", Ints{2, 3, 5}}}, "f32[2, 3, 5]"},
      {"slice", {f32({9, 2})}, slice_attrs(0, 1, 8, 3), "f32[3, 2]"},
      {"slice", {f32({9})}, slice_attrs(0, -3, 100, 1), "f32[3]"},
      {"slice", {f32({9})}, slice_attrs(0, 5, 2, 1), "f32[0]"},
      {"slice", {f32({9})}, slice_attrs(0, 0, 9, kLargest), "f32[1]"},
      {"cat",
       {f32({2, 3}), f32({2, 1}), f32({2, 0})},
       {{"dim", int64_t{1}}},
       "f32[2, 4]"},
      {"full", {i64({3})}, {{"shape", Ints{2}}, {"value", 1.0}}, "i64[2]"},
      {"copy", {f32({2, 2})}, {}, "f32[2, 2]"}});
  expect_all(std::vector<Bad>{
      {"reshape", {f32({4, 3})}, {{"shape", Ints{5}}}, "does not hold"},
      {"reshape", {f32({4, 3})}, {{"shape", Ints{-4, -3}}}, "negative size"},
      {"reshape", {f32({4, 3})}, {}, "'shape' is missing"},
      {"reshape", {f32({4})}, {{"shape", "4"}}, "not a list of integers"},
      {"permute", {f32({2, 3})}, {{"dims", Ints{0, 0}}}, "is no order"},
      {"permute", {f32({2, 3})}, {{"dims", Ints{0}}}, "is no order"},
      {"permute", {f32({2, 3})}, {{"dims", Ints{-1, 0}}}, "is no order"},
      {"expand", {f32({3, 2})}, {{"shape", Ints{3, 4}}}, "do not broadcast"},
      {"expand", {f32({3, 2})}, {{"shape", Ints{1, 2}}}, "does not expand"},
      {"expand", {f32({3, 2})}, {{"shape", Ints{2}}}, "does not expand"},
      {"expand", {f32({1})}, {{"shape", Ints{-3}}}, "negative size"},
      {"slice", {f32({9})}, slice_attrs(1, 0, 1, 1), "dimension 1 is outside"},
      {"slice", {f32({9})}, slice_attrs(-1, 0, 1, 1), "dimension -1"},
      {"slice", {f32({9})}, slice_attrs(0, 0, 1, 0), "step must be"},
      {"slice", {f32({})}, slice_attrs(0, 0, 1, 1), "scalar"},
      {"cat", {f32({2}), f32({2, 1})}, {{"dim", int64_t{0}}}, "rank or type"},
      {"cat", {f32({2}), f64({2})}, {{"dim", int64_t{0}}}, "rank or type"},
      {"cat", {f32({2, 3}), f32({3, 3})}, {{"dim", int64_t{1}}}, "beside"},
      {"cat", {f32({2})}, {{"dim", int64_t{1}}}, "is outside"},
      {"cat", {f32({2})}, {{"dim", int64_t{-1}}}, "is outside"},
      {"cat", {f32({2}), std::nullopt}, {{"dim", int64_t{0}}}, "missing"},
      {"cat",
       {ValueType{DType::kBool, {kHuge}}, ValueType{DType::kBool, {kHuge}}},
       {{"dim", int64_t{0}}},
       "too many"},
      {"full", {f32({})}, {{"shape", Ints{-1}}}, "negative size"}});
}

TEST(ShapeRules, Reductions) {
  expect_all(std::vector<Good>{
      {"sum", {f32({2, 3, 4})}, dims_attrs({0, 2}, false), "f32[3]"},
      {"mean", {f64({2, 3, 4})}, dims_attrs({1}, true), "f64[2, 1, 4]"},
      {"sum", {f32({})}, dims_attrs({}, false), "f32[]"}});
  expect_all(std::vector<Bad>{
      {"sum", {f32({2, 3})}, dims_attrs({2}, false), "dimension 2 is outside"},
      {"sum", {f32({2, 3})}, dims_attrs({-1}, false), "dimension -1"},
      {"mean", {f32({2, 3})}, dims_attrs({1, 1}, false), "listed twice"},
      {"mean", {i64({2})}, dims_attrs({0}, false), "i64 is no float"},
      {"sum", {f32({2})}, {{"dims", Ints{0}}}, "'keep_dims' is missing"}});
}

TEST(ShapeRules, MatrixProducts) {
  expect_all(std::vector<Good>{
      {"matmul", {f32({2, 4, 5}), f32({5, 3})}, {}, "f32[2, 4, 3]"},
      {"matmul", {f32({2, 1, 4, 5}), f32({3, 5, 2})}, {}, "f32[2, 3, 4, 2]"},
      {"linear", {f32({7, 5}), f32({3, 5}), f32({3})}, {}, "f32[7, 3]"},
      {"linear", {f32({5}), f32({3, 5}), std::nullopt}, {}, "f32[3]"},
      {"linear",
       {f32({2, 7, 5}), f32({2, 3, 5}), f32({2, 3})},
       members(2),
       "f32[2, 7, 3]"}});
  expect_all(std::vector<Bad>{
      {"matmul", {f32({5}), f32({5, 3})}, {}, "two dimensions"},
      {"matmul", {f32({4, 5}), f32({4, 3})}, {}, "[4, 5] times [4, 3]"},
      {"matmul", {f32({4, 5}), f64({5, 3})}, {}, "differ in type"},
      {"matmul", {f32({2, 4, 5}), f32({3, 5, 3})}, {}, "do not broadcast"},
      {"linear", {f32({7, 5}), f32({3, 4})}, {}, "does not fit weight"},
      {"linear", {f64({7, 5}), f32({3, 5})}, {}, "does not fit weight"},
      {"linear", {f32({7, 5}), f32({5})}, {}, "the weight has rank 1"},
      {"linear", {f32({}), f32({3, 5})}, {}, "the input has rank 0"},
      {"linear", {f32({7, 5}), f32({3, 5}), f32({4})}, {}, "bias [4]"},
      {"linear", {f32({7, 5}), f32({3, 5}), f64({3})}, {}, "bias"},
      {"linear", {f32({7, 5}), f32({3, 5})}, members(3), "rank 2"},
      {"linear", {f32({3, 5}), f32({2, 3, 5})}, members(2), "2 members"},
      {"linear", {f32({7, 5}), f32({3, 5})}, members(-1), "members"}});
}

TEST(ShapeRules, ProductsOfGroups) {
  ValueType a = f32({7, 5}), b = f32({3, 5, 2}), ends = i64({3});
  expect_all(std::vector<Good>{
      {"grouped_mm", {a, b, ends}, {}, "f32[7, 2]"},
      {"grouped_mm",
       {f32({4, 7, 5}), f32({4, 3, 5, 2}), i64({4, 3})},
       members(4),
       "f32[4, 7, 2]"},
      {"grouped_mm_contract", {f32({5, 7}), a, ends}, {}, "f32[3, 5, 5]"},
      {"grouped_mm_contract",
       {f32({4, 5, 7}), f32({4, 7, 2}), i64({4, 3})},
       members(4),
       "f32[4, 3, 5, 2]"}});
  expect_all(std::vector<Bad>{
      {"grouped_mm", {f32({7, 4}), b, ends}, {}, "does not fit"},
      {"grouped_mm", {a, b, i64({2})}, {}, "in groups of [2] does not fit"},
      {"grouped_mm", {a, a, ends}, {}, "ranks 2 and 2, expected 2 and 3"},
      {"grouped_mm", {f64({7, 5}), b, ends}, {}, "one type of floats"},
      {"grouped_mm", {a, b, f32({3})}, {}, "expected i32 or i64"},
      {"grouped_mm", {a, b, i64({1, 3})}, {}, "expected i32 or i64"},
      {"grouped_mm", {a, b, ends}, members(7), "members"},
      {"grouped_mm_contract", {a, a, ends}, {}, "does not fit"}});
}

TEST(ShapeRules, Convolutions) {
  ValueType x = f32({2, 4, 8, 9});
  expect_all(std::vector<Good>{
      {"conv2d", {x, f32({6, 4, 3, 3})}, conv_attrs(), "f32[2, 6, 6, 7]"},
      {"conv2d",
       {x, f32({6, 2, 3, 2}), f32({6})},
       conv_attrs({2, 3}, {1, 0}, {2, 1}, 2),
       "f32[2, 6, 3, 3]"}});
  expect_all(std::vector<Bad>{
      {"conv2d", {f32({4, 8, 9}), f32({6, 4, 3, 3})}, conv_attrs(), "rank 4"},
      {"conv2d", {x, f32({6, 4, 3})}, conv_attrs(), "rank 4"},
      {"conv2d", {x, f32({6, 3, 3, 3})}, conv_attrs(), "does not fit weight"},
      {"conv2d", {x, f64({6, 4, 3, 3})}, conv_attrs(), "does not fit weight"},
      {"conv2d",
       {x, f32({5, 2, 3, 3})},
       conv_attrs({1, 1}, {0, 0}, {1, 1}, 2),
       "in 2 groups"},
      {"conv2d",
       {x, f32({5, 4, 3, 3})},
       conv_attrs({1, 1}, {0, 0}, {1, 1}, 0),
       "in 0 groups"},
      {"conv2d", {x, f32({6, 4, 9, 3})}, conv_attrs(), "kernel is larger"},
      {"conv2d", {x, f32({6, 4, 3, 3}), f32({4})}, conv_attrs(), "bias [4]"},
      {"conv2d", {x, f32({6, 4, 3, 3})}, conv_attrs({0, 1}), "stride = [0, 1]"},
      {"conv2d", {x, f32({6, 4, 3, 3})}, conv_attrs({1}), "stride = [1]"},
      {"conv2d", {x, f32({6, 4, 3, 3})}, conv_attrs({1, 1}, {0, -1}), "padd"},
      {"conv2d",
       {x, f32({6, 4, 3, 3})},
       conv_attrs({1, 1}, {0, kHuge}),
       "padding"},
      {"conv2d",
       {x, f32({6, 4, 3, 3})},
       conv_attrs({1, 1}, {0, 0}, {kHuge, 1}),
       "dilation"},
      {"conv2d", {x, f32({6, 4, 3, 3})}, {}, "'stride' is missing"},
      {"conv2d_backward_input",
       {f32({2}), f32({2})},
       {{"shape", Ints{2}}},
       "rank 4"},
      {"conv2d_backward_weight", {x, x}, {{"shape", Ints{4, 4}}}, "rank 4"}});
}

TEST(ShapeRules, Pools) {
  ValueType x = f32({2, 4, 8, 9});
  expect_all(std::vector<Good>{
      {"max_pool2d",
       {x},
       pool_attrs({2, 3}, {2, 2}, {0, 1}),
       "f32[2, 4, 4, 5] i64[2, 4, 4, 5]"},
      {"avg_pool2d", {x}, pool_attrs({8, 9}, {1, 1}), "f32[2, 4, 1, 1]"}});
  expect_all(std::vector<Bad>{
      {"max_pool2d", {f32({4, 8, 9})}, pool_attrs({2, 2}, {2, 2}), "rank 4"},
      {"max_pool2d", {x}, pool_attrs({9, 2}, {2, 2}), "window is larger"},
      {"avg_pool2d", {x}, pool_attrs({0, 2}, {2, 2}), "do not fit"},
      {"avg_pool2d", {x}, pool_attrs({2, 2}, {0, 2}), "do not fit"},
      {"avg_pool2d", {x}, pool_attrs({2, 2}, {2, 2}, {2, 0}), "do not fit"},
      {"avg_pool2d", {x}, pool_attrs({2, 2}, {2, 2}, {-1, 0}), "do not fit"},
      {"avg_pool2d", {x}, pool_attrs({2, 2}, {2, 2}, {kHuge, 0}), "do not fit"},
      {"avg_pool2d",
       {x},
       pool_attrs({kLargest, 2}, {2, 2}, {kHuge / 2, 0}),
       "window is larger"},
      {"max_pool2d", {x}, pool_attrs({2}, {2, 2}), ""}});
}

TEST(ShapeRules, Norms) {
  Attrs train{{"training", true}, {"momentum", 0.1}, {"eps", 1e-5}};
  Attrs eval{{"training", false}, {"momentum", 0.1}, {"eps", 1e-5}};
  ValueType x = f32({2, 3, 5}), c = f32({3}), five = f32({5});
  expect_all(std::vector<Good>{
      {"batch_norm",
       {x, c, c, c, c},
       train,
       "f32[2, 3, 5] f32[3] f32[3] f32[3] f32[3]"},
      {"batch_norm", {x}, train, "f32[2, 3, 5] f32[3] f32[3]"},
      {"batch_norm",
       {x, std::nullopt, std::nullopt, c, c},
       eval,
       "f32[2, 3, 5] f32[3] f32[3]"},
      {"layer_norm",
       {x, five, five},
       {{"eps", 1e-5}},
       "f32[2, 3, 5] f32[2, 3, 1] f32[2, 3, 1]"},
      {"layer_norm",
       {x, f32({2, 5})},
       members_and(2, {{"eps", 1e-5}}),
       "f32[2, 3, 5] f32[2, 3, 1] f32[2, 3, 1]"}});
  expect_all(std::vector<Bad>{
      {"batch_norm", {five}, train, "two dimensions"},
      {"batch_norm", {x, five}, train, "input 1 is f32 [5], expected f32 [3]"},
      {"batch_norm", {x, f64({3})}, train, "f64"},
      {"batch_norm", {x, c, c}, eval, "needs running statistics"},
      {"batch_norm", {x}, {}, "'training' is missing"},
      {"layer_norm", {x, c}, {{"eps", 1e-5}}, "expected 5 values"},
      {"layer_norm", {x, f64({5})}, {{"eps", 1e-5}}, "f64"},
      {"layer_norm", {f32({})}, {{"eps", 1e-5}}, "scalar"},
      {"layer_norm", {x, f32({3, 5})}, members(3), "3 members"}});
}

TEST(ShapeRules, EmbeddingsAndAttention) {
  ValueType q = f32({2, 3, 4, 5}), k = f32({2, 3, 6, 5}), v = f32({2, 3, 6, 7});
  ValueType low{DType::kBFloat16, {2, 3, 4, 5}};
  const char* attention = "scaled_dot_product_attention";
  expect_all(std::vector<Good>{
      {"embedding", {f32({9, 4}), i64({2, 3})}, {}, "f32[2, 3, 4]"},
      {"embedding", {f32({2, 9, 4}), i64({2, 3})}, members(2), "f32[2, 3, 4]"},
      {attention, {q, k, v}, {}, "f32[2, 3, 4, 7] f32[2, 3, 4]"},
      {attention, {low, low, low}, {}, "bf16[2, 3, 4, 5] f32[2, 3, 4]"}});
  expect_all(std::vector<Bad>{
      {"embedding", {f32({9}), i64({2})}, {}, "the table has rank 1"},
      {"embedding", {f32({9, 4}), f32({2})}, {}, "indices are f32"},
      {"embedding", {f32({2, 9, 4}), i64({3})}, members(2), "2 members"},
      {"embedding", {f32({3, 9, 4}), i64({2})}, members(2), "2 members"},
      {attention, {q, k, f32({2, 3, 5, 7})}, {}, "do not fit"},
      {attention, {q, f32({2, 1, 6, 5}), v}, {}, "do not fit"},
      {attention, {f32({4, 5}), k, v}, {}, "do not fit"},
      {attention, {q, k, f64({2, 3, 6, 7})}, {}, "do not fit"},
      {"scaled_dot_product_attention_backward",
       {q, f32({2}), f32({2}), f32({2}), q, q},
       {},
       "rank 4"}});
}

TEST(ShapeRules, DropoutAndLosses) {
  ValueType x = f32({2, 6});
  expect_all(std::vector<Good>{
      {"dropout", dropout_inputs(x, {}), {}, "f32[2, 6]"},
      {"dropout", dropout_inputs(x, {2}), members(2), "f32[2, 6]"},
      {"dropout", dropout_inputs({DType::kBFloat16, {8}}, {}), {}, "bf16[8]"},
      {"cross_entropy_loss", {x, i64({2})}, {}, "f32[] f32[2] f32[]"},
      {"cross_entropy_loss",
       {f32({3, 4, 6}), i64({3, 4})},
       members(3),
       "f32[3] f32[3, 4] f32[3]"},
      {"mse_loss", {x, x}, {}, "f32[]"},
      {"mse_loss", {x, x}, members(2), "f32[2]"}});
  InputTypes wrong_step = dropout_inputs(x, {});
  wrong_step[3] = f64({});
  InputTypes wrong_p = dropout_inputs(x, {});
  wrong_p[1] = f32({});
  expect_all(std::vector<Bad>{
      {"dropout", dropout_inputs(x, {3}), {}, "expected 1 values"},
      {"dropout", dropout_inputs(x, {2}), members(3), "expected 3 values"},
      {"dropout", dropout_inputs(x, {3}), members(3), "3 members"},
      {"dropout", dropout_inputs(i64({2}), {}), {}, "i64"},
      {"dropout", wrong_step, {}, "must be i64"},
      {"dropout", wrong_p, {}, "p must be f64"},
      {"cross_entropy_loss", {x, f32({2})}, {}, "targets are f32"},
      {"cross_entropy_loss", {x, i64({6})}, {}, "do not fit targets"},
      {"cross_entropy_loss", {f32({}), i64({})}, {}, "class dimension"},
      {"cross_entropy_loss", {i64({2, 6}), i64({2})}, {}, "i64"},
      {"cross_entropy_loss", {x, i64({2})}, members(3), "3 members"},
      {"mse_loss", {x, f32({2})}, {}, "differ"},
      {"mse_loss", {x, x}, members(3), "3 members"}});
}

TEST(ShapeRules, Updates) {
  ValueType p = f32({3, 4});
  InputTypes adamw{p,       p,       p,       p,       i64({}),
                   f64({}), f64({}), f64({}), f64({}), f64({})};
  InputTypes no_moment = adamw;
  no_moment[3] = std::nullopt;
  expect_all(std::vector<Good>{
      {"sgd_update", sgd_inputs(p, p), {}, "f32[3, 4] f32[3, 4]"},
      {"adamw_update", adamw, {}, "f32[3, 4] f32[3, 4] f32[3, 4]"},
      {"sum_squares", {p}, {}, "f64[]"},
      {"sum_squares", {p}, members(3), "f64[3]"},
      {"clip_scale", {f64({3}), f64({3})}, {}, "f64[3]"},
      {"advance", {i64({3}), f64({3})}, {}, "i64[3]"}});
  expect_all(std::vector<Bad>{
      {"sgd_update", sgd_inputs(p, f32({4, 3})), {}, "gradient differ"},
      {"sgd_update", sgd_inputs(p, p), members(2), "expected 2 numbers"},
      {"adamw_update", no_moment, {}, "input 3 is missing"},
      {"sum_squares", {p}, members(4), "4 members"},
      {"clip_scale", {f64({3})}, {}, "takes 2 to 2 inputs"}});
}

TEST(ShapeRules, SlotsMustFit) {
  Graph graph(table());
  ValueId x = graph.add_input("x", f32({2}));
  SlotId slot = graph.add_slot({.name = "w", .shape = {3}, .members = 2});
  NodeId read = graph.add("read", {}, {}, slot);
  ValueId w = graph.node(read).outputs[0];
  EXPECT_EQ(graph.value(w).type, f32({2, 3}));
  EXPECT_THROW(graph.add("assign", {x}, {}, slot), std::invalid_argument);
  EXPECT_THROW(graph.add("assign", {x}), std::invalid_argument);
  EXPECT_THROW(graph.add("read", {}, {}, 1), std::invalid_argument);
  graph.add("assign", {w}, {}, slot);
  EXPECT_EQ(graph.nodes().size(), 2u);
}

}  // namespace
}  // namespace braid
