// No operator of the zoo, nor one that many published models have, may cost
// an array one call per member.
#include <gtest/gtest.h>

#include "models/zoo_sizes.h"
#include "passes/model_steps.h"

namespace braid {
namespace {

TEST(ArrayRules, NoOperatorOfTheZooLoops) {
  OpTable ops = standard_ops();
  for (const std::string& model : zoo_models()) {
    Graph forward = small_forward(ops, model, {});
    for (const Node& node : forward.nodes()) {
      EXPECT_NE(node.op->array_rule, ArrayRule::kLoop)
          << node.op->name << " of " << model;
    }
  }
}

// What operators in five or more of 178 published models are imported as.
TEST(ArrayRules, NoOperatorOfManyModelsLoops) {
  OpTable ops = standard_ops();
  for (const char* name : {"abs",
                           "adaptive_avg_pool2d",
                           "add",
                           "add_alpha",
                           "arange",
                           "avg_pool2d",
                           "batch_norm",
                           "bitwise_and",
                           "bitwise_not",
                           "cat",
                           "clamp",
                           "conv1d",
                           "conv2d",
                           "conv3d",
                           "copy",
                           "cos",
                           "cross_entropy_loss",
                           "cumsum",
                           "detach",
                           "div",
                           "dropout",
                           "elu",
                           "embedding",
                           "eq",
                           "exp",
                           "expand",
                           "full",
                           "gather",
                           "ge",
                           "gelu",
                           "group_norm",
                           "gt",
                           "histc",
                           "index",
                           "index_put",
                           "index_select",
                           "l1_loss",
                           "layer_norm",
                           "le",
                           "linear",
                           "log",
                           "lstm_cell",
                           "masked_fill",
                           "matmul",
                           "max",
                           "max_pool2d",
                           "mean",
                           "mse_loss",
                           "mul",
                           "ne",
                           "neg",
                           "permute",
                           "pow_scalar",
                           "relu",
                           "reshape",
                           "rsqrt",
                           "scaled_dot_product_attention",
                           "sigmoid",
                           "silu",
                           "sin",
                           "slice",
                           "softmax",
                           "softplus",
                           "sort",
                           "sqrt",
                           "sub",
                           "sum",
                           "tanh",
                           "to",
                           "topk",
                           "upsample_nearest2d",
                           "where",
                           "div_mode",
                           "linalg_vector_norm",
                           "pad"}) {
    const Op* op = ops.find(name);
    ASSERT_TRUE(op) << name;
    EXPECT_TRUE(op->array) << name;
    EXPECT_NE(op->array_rule, ArrayRule::kLoop) << name;
  }
}

// Only what Braid knows nothing about does.
TEST(ArrayRules, OnlyOperatorsOfLibtorchLoop) {
  OpTable ops = standard_ops();
  for (const auto& [name, op] : ops.all()) {
    EXPECT_EQ(op.array_rule == ArrayRule::kLoop, name == "torch_op") << name;
  }
}

}  // namespace
}  // namespace braid
