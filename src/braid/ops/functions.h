// Free functions on Vars: what models, vjp rules and array rules are written
// with. Each appends one or a few nodes to the graph of its inputs.
#pragma once

#include <utility>
#include <vector>

#include "braid/graph/var.h"

namespace braid {

// Pointwise; two operands broadcast.
Var add(Var a, Var b);
Var sub(Var a, Var b);
Var mul(Var a, Var b);
Var div(Var a, Var b);
Var add_scalar(Var x, double value);
Var mul_scalar(Var x, double value);
Var neg(Var x);
Var exp(Var x);
Var log(Var x);
Var sqrt(Var x);
Var tanh(Var x);
Var sigmoid(Var x);
Var relu(Var x);
Var gelu(Var x, bool tanh_form = false);

// Views and rearrangements.
Var reshape(Var x, Shape shape);  // one size may be -1
Var flatten(Var x, int64_t start_dim = 1);
Var permute(Var x, Ints dims);
Var transpose(Var x, int64_t a, int64_t b);
Var expand(Var x, Shape shape);
Var unsqueeze(Var x, int64_t dim);
Var slice(Var x, int64_t dim, int64_t start, int64_t end, int64_t step = 1);
Var select(Var x, int64_t dim, int64_t index);
Var cat(const std::vector<Var>& xs, int64_t dim);

// The same values in another type; gradients flow between float types.
Var cast(Var x, DType dtype);

// A constant, typed and on the graph of `like`.
Var full_like(Var like, Shape shape, double value);

// Reductions.
Var sum(Var x, Ints dims, bool keep_dims = false);
Var mean(Var x, Ints dims, bool keep_dims = false);
Var sum_to(Var x, Shape shape);  // undoes a broadcast

// Matrix products. `members` = B: all operands have a leading axis of B.
Var matmul(Var a, Var b);  // [..., M, K] [..., K, N]
Var linear(Var x, Var w, Var b, int64_t members = 0);  // [..., I] [O, I] [O]

struct Conv2d {
  Ints stride = {1, 1};
  Ints padding = {0, 0};
  Ints dilation = {1, 1};
  int64_t groups = 1;
};
Var conv2d(Var x, Var w, Var b, const Conv2d& options);  // [N, C, H, W]

struct Pool2d {
  Ints kernel;
  Ints stride;
  Ints padding = {0, 0};
};
Var max_pool2d(Var x, const Pool2d& options);
Var avg_pool2d(Var x, const Pool2d& options);

Var embedding(Var weight, Var indices, int64_t padding_idx = -1);
Var layer_norm(Var x, Var w, Var b, double eps = 1e-5);  // last dimension

// q, k, v [N, H, T, D] -> [N, H, T, D]; scale 1 / sqrt(D).
Var attention(Var q, Var k, Var v, bool causal);

// Losses: scalars, mean over the batch.
Var cross_entropy(Var logits, Var target, double label_smoothing = 0);
Var mse_loss(Var x, Var target);

}  // namespace braid
