#include "braid/ops/core/precision_rows.h"

#include <algorithm>

namespace braid {
namespace {

// The lists of torch.autocast: what is narrow in the list of the CPU or of
// CUDA is narrow here, what is f32 in either of them is f32. Besides, means
// and variances are f32 as sums are.
constexpr auto kLow = Precision::kLow;
constexpr auto kFull = Precision::kFull;
constexpr PrecisionRow kRows[] = {
    // Where the work is.
    {"conv1d", kLow},
    {"conv2d", kLow},
    {"conv3d", kLow},
    {"conv_transpose1d", kLow},
    {"conv_transpose2d", kLow},
    {"conv_transpose3d", kLow},
    {"grouped_mm", kLow},
    {"grouped_mm_contract", kLow},
    {"gru_cell", kLow},
    {"linear", kLow},
    {"lstm_cell", kLow},
    {"matmul", kLow},
    {"prelu", kLow},
    {"scaled_dot_product_attention", kLow},

    // Its types are written in the node.
    {"torch_op", kFull},

    // Functions that blow up small differences.
    {"acos", kFull},
    {"acosh", kFull},
    {"asin", kFull},
    {"atanh", kFull},
    {"cosh", kFull},
    {"digamma", kFull},
    {"exp", kFull},
    {"exp2", kFull},
    {"expm1", kFull},
    {"lgamma", kFull},
    {"log", kFull},
    {"log10", kFull},
    {"log1p", kFull},
    {"log2", kFull},
    {"pow", kFull},
    {"pow_scalar", kFull},
    {"reciprocal", kFull},
    {"rsqrt", kFull},
    {"sinh", kFull},
    {"softplus", kFull},
    {"tan", kFull},
    {"xlogy", kFull},

    // Sums and products of many elements.
    {"bounded_norm", kFull},
    {"cumprod", kFull},
    {"cumsum", kFull},
    {"histc", kFull},
    {"linalg_vector_norm", kFull},
    {"log_softmax", kFull},
    {"logsumexp", kFull},
    {"mean", kFull},
    {"prod", kFull},
    {"softmax", kFull},
    {"std", kFull},
    {"sum", kFull},
    {"var", kFull},

    // Statistics of norms.
    {"batch_norm", Precision::kFullInside},
    {"group_norm", kFull},
    {"layer_norm", kFull},
    {"rms_norm", kFull},

    // Losses.
    {"binary_cross_entropy", kFull},
    {"binary_cross_entropy_with_logits", kFull},
    {"cosine_margin", kFull},
    {"cross_entropy_loss", kFull},
    {"gaussian_nll_loss", kFull},
    {"hinge_embedding_loss", kFull},
    {"huber_loss", kFull},
    {"kl_div", kFull},
    {"l1_loss", kFull},
    {"margin_ranking_loss", kFull},
    {"mse_loss", kFull},
    {"nll_loss", kFull},
    {"poisson_nll_loss", kFull},
    {"smooth_l1_loss", kFull},
    {"soft_margin_loss", kFull},
    {"triplet_margin", kFull},

    // Pictures made larger, volumes pooled.
    {"_upsample_nearest_exact1d", kFull},
    {"_upsample_nearest_exact2d", kFull},
    {"_upsample_nearest_exact3d", kFull},
    {"adaptive_avg_pool3d", kFull},
    {"adaptive_max_pool3d", kFull},
    {"avg_pool3d", kFull},
    {"max_pool3d", kFull},
    {"upsample_bicubic2d", kFull},
    {"upsample_bilinear2d", kFull},
    {"upsample_linear1d", kFull},
    {"upsample_nearest1d", kFull},
    {"upsample_nearest2d", kFull},
    {"upsample_nearest3d", kFull},
    {"upsample_trilinear3d", kFull},
};

}  // namespace

std::span<const PrecisionRow> precision_rows() { return kRows; }

Precision precision_of(std::string_view op) {
  const auto* row = std::ranges::find(kRows, op, &PrecisionRow::op);
  return row == std::end(kRows) ? Precision::kFollow : row->precision;
}

}  // namespace braid
