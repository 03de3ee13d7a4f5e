// One row of the parity table: an op with arguments and the same thing said
// in libtorch. Each row yields forward, every gradient, a repeat that must be
// bitwise equal, an array of three against three solo runs and, where there is
// a GPU, the same there.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

#include "braid/graph/attrs.h"
#include "braid/graph/var.h"

namespace braid::parity {

// How an input is filled.
struct Arg {
  enum class Kind {
    kFloat,
    kPositive,
    kSteps,
    kSpecial,
    kIndex,
    kBool,
    kMissing
  };
  Shape shape = {};
  Kind kind = Kind::kFloat;
  int64_t limit = 0;  // of an index
};

inline Arg positive(Shape shape) {
  return {std::move(shape), Arg::Kind::kPositive};
}
// Multiples of 1/2, so that zeros and ties occur.
inline Arg steps(Shape shape) { return {std::move(shape), Arg::Kind::kSteps}; }
// The same with infinities and NaNs among them.
inline Arg special(Shape shape) {
  return {std::move(shape), Arg::Kind::kSpecial};
}
inline Arg index(Shape shape, int64_t limit) {
  return {std::move(shape), Arg::Kind::kIndex, limit};
}
inline Arg mask(Shape shape) { return {std::move(shape), Arg::Kind::kBool}; }
inline Arg missing() { return {{}, Arg::Kind::kMissing}; }

using Tensors = std::vector<at::Tensor>;
using Reference = std::function<at::Tensor(const Tensors&)>;
// Builds the op under test; by default apply(op, inputs, attrs).
using Build = std::function<Var(const std::vector<Var>&)>;

struct Row {
  std::string op;
  std::vector<Arg> args;
  Attrs attrs;
  Reference reference;
  Build build = {};
  std::string note = {};  // tells rows of one op apart
};

// All rows, by family.
std::vector<Row> pointwise_rows();
std::vector<Row> shape_rows();
std::vector<Row> reduce_rows();
std::vector<Row> matmul_rows();
std::vector<Row> grouped_rows();
std::vector<Row> einsum_rows();
std::vector<Row> conv_rows();
std::vector<Row> pool_rows();
std::vector<Row> norm_rows();
std::vector<Row> attention_rows();
std::vector<Row> loss_rows();
std::vector<Row> pointwise_loss_rows();
std::vector<Row> activation_rows();
std::vector<Row> math_rows();
std::vector<Row> compare_rows();
std::vector<Row> softmax_rows();
std::vector<Row> sort_rows();
std::vector<Row> index_rows();
std::vector<Row> pad_rows();
std::vector<Row> arrange_rows();
std::vector<Row> factory_rows();
std::vector<Row> upsample_rows();
std::vector<Row> rnn_rows();
std::vector<Row> foreign_rows();

std::vector<Row> all_rows();

}  // namespace braid::parity
