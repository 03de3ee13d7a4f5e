// Free functions on Vars: what models, vjp rules and array rules are written
// with. Each appends one or a few nodes to the graph of its inputs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "braid/graph/var.h"

namespace braid {

// A plain number. Whether it is an integer matters beside integers: there 1.5
// makes floats and 2 does not.
using Number = std::variant<bool, int64_t, double>;

// Pointwise; two operands broadcast.
Var add(Var a, Var b);
Var sub(Var a, Var b);
Var mul(Var a, Var b);
Var div(Var a, Var b);
Var add(Var a, Var b, Number alpha);   // a + alpha * b
Var sub(Var a, Var b, Number alpha);   // a - alpha * b
Var rsub(Var a, Var b, Number alpha);  // b - alpha * a
Var add_scalar(Var x, Number value);
Var sub_scalar(Var x, Number value);
Var rsub_scalar(Var x, Number value);  // value - x
Var mul_scalar(Var x, Number value);
Var div_scalar(Var x, Number value);
Var neg(Var x);
Var exp(Var x);
Var log(Var x);
Var sqrt(Var x);
Var tanh(Var x);
Var sigmoid(Var x);
Var relu(Var x);
Var gelu(Var x, bool tanh_form = false);

// Activations.
Var leaky_relu(Var x, double negative_slope = 0.01);
Var rrelu(Var x, double lower = 1.0 / 8, double upper = 1.0 / 3);  // no noise
Var elu(Var x, double alpha = 1, double scale = 1, double input_scale = 1);
Var celu(Var x, double alpha = 1);
Var selu(Var x);
Var hardtanh(Var x, double min = -1, double max = 1);
Var relu6(Var x);
Var threshold(Var x, double threshold, double value);
Var hardswish(Var x);
Var hardsigmoid(Var x);
Var silu(Var x);
Var mish(Var x);
Var softplus(Var x, double beta = 1, double threshold = 20);
Var log_sigmoid(Var x);
Var softsign(Var x);
Var tanhshrink(Var x);
Var hardshrink(Var x, double lambd = 0.5);
Var softshrink(Var x, double lambd = 0.5);
Var prelu(Var x, Var weight);      // x[N, C, ...], weight[C] or [1]
Var glu(Var x, int64_t dim = -1);  // [..., 2 C, ...] -> [..., C, ...]

// Elementary functions.
Var rsqrt(Var x);
Var reciprocal(Var x);
Var square(Var x);
Var abs(Var x);
Var sign(Var x);
Var sin(Var x);
Var cos(Var x);
Var tan(Var x);
Var asin(Var x);
Var acos(Var x);
Var atan(Var x);
Var sinh(Var x);
Var cosh(Var x);
Var asinh(Var x);
Var acosh(Var x);
Var atanh(Var x);
Var log1p(Var x);
Var log2(Var x);
Var log10(Var x);
Var expm1(Var x);
Var exp2(Var x);
Var erf(Var x);
Var erfc(Var x);
Var lgamma(Var x);
Var digamma(Var x);
Var floor(Var x);
Var ceil(Var x);
Var trunc(Var x);
Var round(Var x, int64_t decimals = 0);
Var frac(Var x);
Var nan_to_num(Var x, double nan = 0, std::optional<double> posinf = {},
               std::optional<double> neginf = {});
Var pow(Var base, Var exponent);
Var pow_scalar(Var base, Number exponent);
Var scalar_pow(Number base, Var exponent);
Var atan2(Var a, Var b);
Var hypot(Var a, Var b);
Var maximum(Var a, Var b);
Var minimum(Var a, Var b);
Var xlogy(Var a, Var b);
Var xlogy_scalar(Var a, double b);
Var scalar_xlogy(double a, Var b);
Var fmod(Var a, Var b);
Var fmod_scalar(Var a, Number b);
Var remainder(Var a, Var b);
Var remainder_scalar(Var a, Number b);
Var scalar_remainder(Number a, Var b);
Var div_mode(Var a, Var b, std::string rounding);  // "trunc" or "floor"
Var div_mode_scalar(Var a, Number b, std::string rounding);
Var floor_divide(Var a, Var b);
Var floor_divide_scalar(Var a, Number b);
Var clamp(Var x, std::optional<Number> min, std::optional<Number> max);
Var clamp_min(Var x, Number min);
Var clamp_max(Var x, Number max);
Var clamp_tensor(Var x, Var min, Var max);  // one may be missing
Var lerp(Var a, Var b, Var weight);
Var lerp_scalar(Var a, Var b, double weight);
Var addcmul(Var a, Var b, Var c, double value = 1);  // a + value * b * c
Var addcdiv(Var a, Var b, Var c, double value = 1);  // a + value * b / c

// Comparisons, logic, bits; no gradients.
Var eq(Var a, Var b);
Var ne(Var a, Var b);
Var lt(Var a, Var b);
Var le(Var a, Var b);
Var gt(Var a, Var b);
Var ge(Var a, Var b);
Var eq_scalar(Var a, Number b);
Var ne_scalar(Var a, Number b);
Var lt_scalar(Var a, Number b);
Var le_scalar(Var a, Number b);
Var gt_scalar(Var a, Number b);
Var ge_scalar(Var a, Number b);
Var isnan(Var x);
Var isinf(Var x);
Var isfinite(Var x);
Var logical_and(Var a, Var b);
Var logical_or(Var a, Var b);
Var logical_xor(Var a, Var b);
Var logical_not(Var x);
Var bitwise_and(Var a, Var b);
Var bitwise_or(Var a, Var b);
Var bitwise_xor(Var a, Var b);
Var bitwise_not(Var x);
Var bitwise_left_shift(Var a, Var b);
Var bitwise_right_shift(Var a, Var b);
Var bitwise_and_scalar(Var a, Number b);
Var bitwise_or_scalar(Var a, Number b);
Var bitwise_xor_scalar(Var a, Number b);
Var bitwise_left_shift_scalar(Var a, Number b);
Var bitwise_right_shift_scalar(Var a, Number b);

// Choices.
Var where(Var condition, Var a, Var b);
Var where(Var condition, Var a, Number b);
Var where(Var condition, Number a, Var b);
Var where(Var condition, Number a, Number b);
Var masked_fill(Var x, Var mask, Var value);  // value[]
Var masked_fill(Var x, Var mask, Number value);

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

// The same value; no gradient flows through it.
Var detach(Var x);

// A constant, typed and on the graph of `like`.
Var full_like(Var like, Shape shape, double value);

// Reductions. No dims: over all of them.
Var sum(Var x, Ints dims, bool keep_dims = false);
Var mean(Var x, Ints dims, bool keep_dims = false);
Var variance(Var x, Ints dims, double correction = 1, bool keep_dims = false);
Var stddev(Var x, Ints dims, double correction = 1, bool keep_dims = false);
Var amax(Var x, Ints dims, bool keep_dims = false);
Var amin(Var x, Ints dims, bool keep_dims = false);
Var any(Var x, Ints dims, bool keep_dims = false);
Var all(Var x, Ints dims, bool keep_dims = false);
Var count_nonzero(Var x, Ints dims);
Var logsumexp(Var x, Ints dims, bool keep_dims = false);
Var vector_norm(Var x, double ord, Ints dims, bool keep_dims = false);
Var prod(Var x);  // of all entries
Var prod(Var x, int64_t dim, bool keep_dims = false);
Var argmax(Var x);  // place in the flattened value
Var argmax(Var x, int64_t dim, bool keep_dims = false);
Var argmin(Var x);
Var argmin(Var x, int64_t dim, bool keep_dims = false);
Var cumsum(Var x, int64_t dim);
Var cumprod(Var x, int64_t dim);
Var diff(Var x, int64_t dim = -1, int64_t n = 1);
Var softmax(Var x, int64_t dim);
Var log_softmax(Var x, int64_t dim);

// Values by their order along a dimension, and where they stood.
struct Picked {
  Var values;
  Var indices;  // i64
};
Picked max(Var x, int64_t dim, bool keep_dims = false);
Picked min(Var x, int64_t dim, bool keep_dims = false);
Picked topk(Var x, int64_t k, int64_t dim = -1, bool largest = true,
            bool sorted = true);
Picked sort(Var x, int64_t dim = -1, bool descending = false);  // stable
Var argsort(Var x, int64_t dim = -1, bool descending = false);

// Places by index; missing entries of a list of indices take everything.
Var gather(Var x, int64_t dim, Var index);
Var take_along_dim(Var x, Var index, int64_t dim);
Var index_select(Var x, int64_t dim, Var index);
Var index(Var x, const std::vector<Var>& indices);
Var index_put(Var x, const std::vector<Var>& indices, Var values,
              bool accumulate = false);
Var scatter(Var x, int64_t dim, Var index, Var src);
Var scatter_value(Var x, int64_t dim, Var index, double value);
Var scatter_add(Var x, int64_t dim, Var index, Var src);
Var scatter_reduce(Var x, int64_t dim, Var index, Var src, std::string reduce,
                   bool include_self = true);  // sum, mean, amax, amin
Var slice_scatter(Var x, Var src, int64_t dim, int64_t start, int64_t end,
                  int64_t step = 1);
Var select_scatter(Var x, Var src, int64_t dim, int64_t index);

// Padding (constant, reflect, replicate, circular) and windows.
Var pad(Var x, const Ints& widths, std::string mode = "constant",
        double value = 0);
Var unfold(Var x, int64_t dim, int64_t size, int64_t step);
struct Windows {
  Ints kernel;
  Ints dilation = {1, 1};
  Ints padding = {0, 0};
  Ints stride = {1, 1};
};
Var im2col(Var x, const Windows& windows);  // [N, C, H, W] -> [N, C * K, L]
Var col2im(Var x, Ints size, const Windows& windows);

// Rearrangements.
Var flip(Var x, Ints dims);
Var roll(Var x, Ints shifts, Ints dims);  // no dims: as one row
Var tril(Var x, int64_t diagonal = 0);
Var triu(Var x, int64_t diagonal = 0);
Var diagonal(Var x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
Var stack(const std::vector<Var>& xs, int64_t dim);
Var repeat(Var x, Ints counts);
Var repeat_interleave(Var x, int64_t count);  // as one row
Var repeat_interleave(Var x, int64_t count, int64_t dim);
std::vector<Var> broadcast_tensors(const std::vector<Var>& xs);
std::vector<Var> unbind(Var x, int64_t dim);
std::vector<Var> split(Var x, int64_t size, int64_t dim);
std::vector<Var> split_with_sizes(Var x, const Ints& sizes, int64_t dim);
std::vector<Var> chunk(Var x, int64_t count, int64_t dim);
Var narrow(Var x, int64_t dim, int64_t start, int64_t length);
Var squeeze(Var x);
Var squeeze(Var x, Ints dims);
Var unflatten(Var x, int64_t dim, Shape sizes);
Var movedim(Var x, Ints from, Ints to);
std::vector<Var> meshgrid(const std::vector<Var>& xs, bool xy = false);

// Factories; `like` only names the graph.
Var arange(Var like, double start, double end, double step, DType dtype);
Var linspace(Var like, double start, double end, int64_t steps, DType dtype);
Var eye(Var like, int64_t rows, int64_t columns, DType dtype);
Var full(Var like, Shape shape, double value, DType dtype);
Var one_hot(Var x, int64_t classes);
Var bincount(Var x, int64_t size);
Var histc(Var x, int64_t bins, double min, double max);

// Undoes a broadcast.
Var sum_to(Var x, Shape shape);

// Matrix products. `members` = B: all operands have a leading axis of B.
Var matmul(Var a, Var b);  // [..., M, K] [..., K, N]; also of rank 1
Var mm(Var a, Var b);
Var bmm(Var a, Var b);
// Rows in groups that end at offsets[E], as `_grouped_mm` of ATen takes them:
// [S, K] [E, K, N], [E, M, K] [K, S], [M, S] [S, N], or batches without.
Var grouped_mm(Var a, Var b, Var offsets = {});
Var mv(Var a, Var x);
Var dot(Var a, Var b);
Var outer(Var a, Var b);
Var addmm(Var c, Var a, Var b, double beta = 1, double alpha = 1);
Var addmv(Var c, Var a, Var x, double beta = 1, double alpha = 1);
Var baddbmm(Var c, Var a, Var b, double beta = 1, double alpha = 1);
Var tensordot(Var a, Var b, Ints dims_a, Ints dims_b);
Var tensordot(Var a, Var b, int64_t count);  // last of a with first of b
Var einsum(std::string_view equation, const std::vector<Var>& operands);
Var bilinear(Var a, Var b, Var w, Var bias);  // [..., I] [..., J] [O, I, J]
Var linear(Var x, Var w, Var b, int64_t members = 0);  // [..., I] [O, I] [O]

// Convolutions of x[N, C, ...] or [C, ...] with w[O, C/g, ...] and b[O] or
// none; a transposed one takes w[C, O/g, ...]. A list of one number counts for
// all dimensions.
struct Conv {
  Ints stride = {1};
  Ints padding = {0};
  Ints dilation = {1};
  int64_t groups = 1;
  Ints output_padding = {0};  // of transposed ones
};
Var conv1d(Var x, Var w, Var b, const Conv& options = {});
Var conv2d(Var x, Var w, Var b, const Conv& options = {});
Var conv3d(Var x, Var w, Var b, const Conv& options = {});
Var conv_transpose1d(Var x, Var w, Var b, const Conv& options = {});
Var conv_transpose2d(Var x, Var w, Var b, const Conv& options = {});
Var conv_transpose3d(Var x, Var w, Var b, const Conv& options = {});
// Padding "same" (the output has the sizes of the input; stride 1) or "valid"
// (none) instead of options.padding; the rank of w tells the dimensions.
Var conv_padded(Var x, Var w, Var b, std::string_view padding,
                const Conv& options = {});

// Pools of x[N, C, ...] or [C, ...]. A list of one number counts for all
// dimensions; an empty stride is the kernel.
struct Pool {
  Ints kernel;
  Ints stride = {};
  Ints padding = {0};
  Ints dilation = {1};  // of max pools
  bool ceil_mode = false;
  bool count_include_pad = true;                 // of average pools
  std::optional<int64_t> divisor_override = {};  // of average pools
};
using Pool2d = Pool;
struct Pooled {
  Var y;
  Var indices;  // places in the flattened spatial sizes of x
};
Pooled max_pool_with_indices(Var x, int64_t dims, const Pool& options);
Var max_pool1d(Var x, const Pool& options);
Var max_pool2d(Var x, const Pool& options);
Var max_pool3d(Var x, const Pool& options);
Var avg_pool1d(Var x, const Pool& options);
Var avg_pool2d(Var x, const Pool& options);
Var avg_pool3d(Var x, const Pool& options);
// A size of -1 is that of x.
Var adaptive_avg_pool1d(Var x, Ints size);
Var adaptive_avg_pool2d(Var x, Ints size);
Var adaptive_avg_pool3d(Var x, Ints size);
Pooled adaptive_max_pool1d(Var x, Ints size);
Pooled adaptive_max_pool2d(Var x, Ints size);
Pooled adaptive_max_pool3d(Var x, Ints size);

// Images x[N, C, ...] resized: `mode` is "nearest", "nearest-exact", "linear",
// "bilinear", "bicubic" or "trilinear". One of size and scale is given; sizes
// from factors are rounded down.
struct Upsample {
  std::string mode = "nearest";
  Ints size = {};
  std::vector<double> scale = {};
  bool align_corners = false;
};
Var upsample(Var x, const Upsample& options);
Var pixel_shuffle(Var x, int64_t factor);    // [..., C*f*f, H, W] to [..., C,
Var pixel_unshuffle(Var x, int64_t factor);  // H*f, W*f], and back

// Distances along one dimension.
Var cosine_similarity(Var a, Var b, int64_t dim = 1, double eps = 1e-8);
Var pairwise_distance(Var a, Var b, double p = 2, double eps = 1e-6,
                      bool keep_dim = false);
Var cdist(Var a, Var b, double p = 2);  // [..., M, D] [..., N, D] -> [M, N]

// What a random op draws from: a rate, the member's seed and step, and the
// micro-batch. No rate: nothing is dropped.
struct Draw {
  Var p, seed, step, micro;
};
Var dropout(Var x, const Draw& draw);
Var feature_dropout(Var x, const Draw& draw);  // whole channels of [N, C, ...]
Var alpha_dropout(Var x, const Draw& draw);    // keeps mean and variance
Var feature_alpha_dropout(Var x, const Draw& draw);

Var embedding(Var weight, Var indices, int64_t padding_idx = -1);

// Norms; w and b are optional. Layer and rms norm go over the last `dims`
// dimensions, whose sizes w and b have; the others have [C] of x[N, C, ...].
Var layer_norm(Var x, Var w, Var b, double eps = 1e-5, int64_t dims = 1);
// Without an eps it is the spacing of the type at 1.
Var rms_norm(Var x, Var w, std::optional<double> eps = {}, int64_t dims = 1);
Var group_norm(Var x, int64_t groups, Var w, Var b, double eps = 1e-5);
struct Norm {
  bool training = true;  // statistics of x, not the running ones
  double momentum = 0.1;
  double eps = 1e-5;
};
// y and the new running statistics [C], if there were any and x counts.
struct Normed {
  Var y, running_mean, running_var;
};
Normed batch_norm(Var x, Var w, Var b, Var running_mean, Var running_var,
                  const Norm& options = {});
Normed instance_norm(Var x, Var w, Var b, Var running_mean, Var running_var,
                     const Norm& options = {});
// v * g / |v|, the norm over all dimensions but `dim`; -1: over all.
Var weight_norm(Var v, Var g, int64_t dim = 0);
Var local_response_norm(Var x, int64_t size, double alpha = 1e-4,
                        double beta = 0.75, double k = 1);
// x / max(norm, eps), the p-norm over `dim`.
Var normalize(Var x, double p = 2, int64_t dim = 1, double eps = 1e-12);

struct Attention {
  Var mask = {};  // bool (false: not seen) or float, broadcasts
  bool causal = false;
  std::optional<double> scale = {};  // 1 / sqrt(D) when not given
  bool grouped_heads = false;        // keys and values have fewer heads
  Draw dropout = {};                 // of the weights
};
// q[..., T, D], k[..., S, D], v[..., S, E] -> [..., T, E].
Var attention(Var q, Var k, Var v, Attention options);
Var attention(Var q, Var k, Var v, bool causal);

// Recurrent layers over x[T, N, I] (or [T, I]); weights of each layer and
// direction: w_ih, w_hh, with bias b_ih, b_hh, with a projection w_hr.
struct Recurrent {
  int64_t layers = 1;
  bool bias = true;
  bool bidirectional = false;
  bool batch_first = false;  // x[N, T, I]
  Draw dropout = {};         // between layers
};
struct RecurrentResult {
  Var y;  // [T, N, directions * H]
  Var h;  // [layers * directions, N, H]
  Var c;  // of an lstm
};
// Entries of dimension 0, by halves of halves: the gradient of T steps costs
// T log T and not T * T. And values joined along a new dimension.
std::vector<Var> time_steps(Var x);
Var stack_steps(std::vector<Var> steps, int64_t dim);
// States are zero when not given.
RecurrentResult lstm(Var x, Var h, Var c, const std::vector<Var>& weights,
                     const Recurrent& options);
RecurrentResult gru(Var x, Var h, const std::vector<Var>& weights,
                    const Recurrent& options);
RecurrentResult rnn_tanh(Var x, Var h, const std::vector<Var>& weights,
                         const Recurrent& options);
RecurrentResult rnn_relu(Var x, Var h, const std::vector<Var>& weights,
                         const Recurrent& options);

// Losses: scalars, mean over the batch; classes are the last dimension.
Var cross_entropy(Var logits, Var target, double label_smoothing = 0);

// Losses as in PyTorch: classes are dimension 1 (0 of a vector).
enum class Reduction { kMean, kSum, kEach };  // each: not reduced
struct ClassLoss {
  Var weight = {};  // [C]
  int64_t ignore_index = -100;
  double label_smoothing = 0;  // of cross entropy
  Reduction reduction = Reduction::kMean;
};
Var cross_entropy_loss(Var logits, Var target, const ClassLoss& options = {});
Var nll_loss(Var log_p, Var target, const ClassLoss& options = {});

// Element by element, then reduced; operands broadcast.
Var reduce_loss(Var losses, Reduction reduction);
Var mse_loss(Var x, Var t, Reduction r = Reduction::kMean);
Var l1_loss(Var x, Var t, Reduction r = Reduction::kMean);
Var smooth_l1_loss(Var x, Var t, double beta = 1,
                   Reduction r = Reduction::kMean);
Var huber_loss(Var x, Var t, double delta = 1, Reduction r = Reduction::kMean);
Var binary_cross_entropy(Var p, Var t, Var weight = {},
                         Reduction r = Reduction::kMean);
Var binary_cross_entropy_with_logits(Var x, Var t, Var weight = {},
                                     Var pos_weight = {},
                                     Reduction r = Reduction::kMean);
Var kl_div(Var log_p, Var t, bool log_target = false,
           Reduction r = Reduction::kMean);
Var soft_margin_loss(Var x, Var t, Reduction r = Reduction::kMean);
Var multilabel_soft_margin_loss(Var x, Var t, Var weight = {},
                                Reduction r = Reduction::kMean);
Var poisson_nll_loss(Var x, Var t, bool log_input = true, bool full = false,
                     double eps = 1e-8, Reduction r = Reduction::kMean);
Var gaussian_nll_loss(Var x, Var t, Var variance, bool full = false,
                      double eps = 1e-6, Reduction r = Reduction::kMean);
Var margin_ranking_loss(Var a, Var b, Var t, double margin = 0,
                        Reduction r = Reduction::kMean);
Var hinge_embedding_loss(Var x, Var t, double margin = 1,
                         Reduction r = Reduction::kMean);
Var cosine_embedding_loss(Var a, Var b, Var t, double margin = 0,
                          Reduction r = Reduction::kMean);
struct TripletMargin {
  double margin = 1;
  double p = 2;
  double eps = 1e-6;
  bool swap = false;
  Reduction reduction = Reduction::kMean;
};
Var triplet_margin_loss(Var anchor, Var near, Var far,
                        const TripletMargin& options = {});

}  // namespace braid
