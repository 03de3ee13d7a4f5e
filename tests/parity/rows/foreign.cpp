// Operators that only libtorch knows, as torch_op nodes. The same call is the
// reference, outside of any graph.
#include "braid/ops/core/foreign.h"
#include "../row.h"
#include "braid/runtime/foreign_ops.h"
#include "braid/runtime/kernels/aten/foreign_call.h"

namespace braid::parity {
namespace {

const ForeignOps& foreign() {
  static const std::unique_ptr<ForeignOps> ops = runtime::torch_foreign_ops();
  return *ops;
}

// One operator, or several in a chain on the first result of the one before;
// `result` is of the last.
struct Link {
  std::string target;
  std::string args;
};
struct Case {
  std::vector<Arg> args;
  std::vector<Link> links;
  size_t result = 0;
};

Row foreign_row(const Case& c) {
  Build build = [c](const std::vector<Var>& inputs) {
    std::vector<Var> values = inputs;
    for (const Link& link : c.links) {
      values = torch_op(foreign(), link.target, parse_foreign_args(link.args),
                        values);
    }
    return values[c.result];
  };
  Reference reference = [c](const Tensors& inputs) {
    Tensors values = inputs;
    for (const Link& link : c.links) {
      runtime::ForeignCall call(link.target, parse_foreign_args(link.args));
      values = call.run(values, at::kCPU);
    }
    return values[c.result];
  };
  std::string note = c.links[0].target + " " + c.links[0].args;
  return {"torch_op", c.args, {}, reference, build, note};
}

std::vector<Case> one_tensor() {
  std::vector<Case> cases;
  for (Shape shape : {Shape{3, 4}, Shape{5}, Shape{}, Shape{2, 0}}) {
    for (const char* target :
         {"aten::sinc", "aten::i0", "aten::special_i1e", "aten::special_ndtr",
          "aten::special_entr", "aten::nan_to_num", "aten::arctanh",
          "aten::special_erfcx", "aten::frac", "aten::sgn"}) {
      cases.push_back({{{shape}}, {{target, "$0"}}});
    }
    cases.push_back({{positive(shape)}, {{"aten::logit", "$0, eps=0.2"}}});
    cases.push_back({{positive(shape)}, {{"aten::polygamma", "2, $0"}}});
    cases.push_back({{positive(shape)}, {{"aten::mvlgamma", "$0, 1"}}});
  }
  return cases;
}

std::vector<Case> along_a_dim() {
  return {
      {{{{3, 5}}}, {{"aten::logcumsumexp", "$0, 1"}}},
      {{{{3, 5}}}, {{"aten::cummax", "$0, -1"}}},
      {{{{3, 5}}}, {{"aten::cummax", "$0, -1"}}, 1},
      {{{{3, 5}}}, {{"aten::cummin", "$0, 0"}}},
      {{{{3, 5}}}, {{"aten::kthvalue", "$0, 2, 1, true"}}},
      {{{{3, 5}}}, {{"aten::median.dim", "$0, 1"}}},
      {{{{3, 5}}}, {{"aten::nanmedian.dim", "$0, 1, keepdim=true"}}},
      {{{{3, 5}}}, {{"aten::mode", "$0, 0"}}},
      {{{{3, 5}}}, {{"aten::quantile.scalar", "$0, 0.3, 1"}}},
      {{{{3, 5}}}, {{"aten::trapezoid.dx", "$0, dx=0.5, dim=0"}}},
      {{{{3, 5}}}, {{"aten::std_mean.correction", "$0, [1], correction=1"}}, 1},
      {{{{3, 5}}}, {{"aten::std_mean.correction", "$0, [1], correction=1"}}},
      {{{{3, 5}}}, {{"aten::renorm", "$0, 2.0, 0, 1.0"}}},
      {{{{4, 3}}}, {{"aten::cov", "$0"}}},
      {{{{4, 3}}}, {{"aten::rot90", "$0, 3, [0, 1]"}}},
      {{{{3, 4, 2}}}, {{"aten::nansum", "$0, [0, 2]"}}},
      {{{{2, 3}}, {{2, 3}}}, {{"aten::linalg_cross", "$0, $1, dim=1"}}},
      {{{{2, 3}}, {{2, 3}}}, {{"aten::logaddexp2", "$0, $1"}}},
      {{{{2, 3}}, {{2, 3}}}, {{"aten::hypot", "$0, $1"}}},
      {{positive({2, 3}), {{3}}}, {{"aten::xlogy.Tensor", "$1, $0"}}},
  };
}

std::vector<Case> linear_algebra() {
  Arg square{{3, 3}}, batch{{2, 3, 3}};
  std::vector<Case> cases{
      {{square}, {{"aten::linalg_det", "$0"}}},
      {{square}, {{"aten::linalg_inv", "$0"}}},
      {{square}, {{"aten::linalg_matrix_exp", "$0"}}},
      {{square}, {{"aten::trace", "$0"}}},
      {{square}, {{"aten::linalg_slogdet", "$0"}}, 1},
      {{square, {{3, 2}}}, {{"aten::linalg_solve", "$0, $1"}}},
      {{{{4, 3}}}, {{"aten::linalg_svd", "$0, full_matrices=false"}}, 1},
      {{{{4, 3}}}, {{"aten::linalg_qr", "$0"}}, 1},
      {{{{4, 3}}}, {{"aten::linalg_svdvals", "$0"}}},
      {{{{4, 3}}}, {{"aten::linalg_pinv", "$0, 1e-15"}}},
      {{{{2, 3}}, {{3, 4}}, {{4, 2}}},
       {{"aten::linalg_multi_dot", "[$0, $1, $2]"}}},
      {{{{2, 3}}, {{1, 2}}}, {{"aten::block_diag", "[$0, $1]"}}},
      {{{{2, 2}}, {{3, 2}}}, {{"aten::kron", "$0, $1"}}},
  };
  for (const char* target : {"aten::linalg_inv", "aten::linalg_det"}) {
    cases.push_back({{batch}, {{target, "$0"}}});
  }
  return cases;
}

std::vector<Case> complex_numbers() {
  return {
      {{{{3, 8}}}, {{"aten::fft_rfft", "$0"}, {"aten::abs", "$0"}}},
      {{{{3, 7}}},
       {{"aten::fft_rfft", "$0, none, 1, \"ortho\""},
        {"aten::fft_irfft", "$0, 7, 1, \"ortho\""}}},
      {{{{4, 4}}},
       {{"aten::fft_fftn", "$0"},
        {"aten::mul.Scalar", "$0, 0.5"},
        {"aten::view_as_real_copy", "$0"}}},
      {{{{2, 5}}, {{2, 5}}},
       {{"aten::complex", "$0, $1"},
        {"aten::fft_ifft", "$0"},
        {"aten::abs", "$0"}}},
      {{positive({2, 5}), {{2, 5}}},
       {{"aten::polar", "$0, $1"},
        {"aten::_conj_physical", "$0"},
        {"aten::view_as_real_copy", "$0"}}},
      // Not of polar: its angle has no gradient towards the absolute value, and
      // rounding alone would be compared.
      {{{{2, 5}}, {{2, 5}}},
       {{"aten::complex", "$0, $1"}, {"aten::angle", "$0"}}},
      {{{{40}}},
       {{"aten::stft", "$0, 8, hop_length=4, return_complex=true"},
        {"aten::abs", "$0"}}},
  };
}

std::vector<Case> images_and_lists() {
  return {
      {{{{1, 8, 3, 3}}}, {{"aten::pixel_shuffle", "$0, 2"}}},
      {{{{1, 2, 4, 4}}}, {{"aten::pixel_unshuffle", "$0, 2"}}},
      {{{{1, 4, 3, 3}}}, {{"aten::channel_shuffle", "$0, 2"}}},
      {{{{2, 3, 4, 4}}, {{2, 5, 5, 2}}},
       {{"aten::grid_sampler", "$0, $1, 0, 0, false"}}},
      {{{{2, 3, 4, 4}}, {{2, 5, 5, 2}}},
       {{"aten::grid_sampler", "$0, $1, 0, 1, true"}}},
      {{{{2, 2, 3}}},
       {{"aten::affine_grid_generator", "$0, [2, 3, 4, 4], true"}}},
      {{{{6, 2}}}, {{"aten::unsafe_split.Tensor", "$0, 4"}}, 1},
      {{{{6, 2}}}, {{"aten::unsafe_chunk", "$0, 3"}}, 2},
      {{{{2}}, {{3}}}, {{"aten::cartesian_prod", "[$0, $1]"}}},
      {{{{3, 4}}, index({2}, 4)},
       {{"aten::index_fill.int_Scalar", "$0, 1, $1, 0.5"}}},
      {{{{3, 4}}, index({2, 2}, 12)}, {{"aten::take", "$0, $1"}}},
      {{{{3, 4}}, mask({3, 4}), {{12}}},
       {{"aten::masked_scatter", "$0, $1, $2"}}},
      {{{{4, 3}}, index({2}, 4), {{2, 3}}},
       {{"aten::index_put", "$0, [$1, none], $2, accumulate=true"}}},
      {{{{4, 3}}, index({2}, 4), {{2, 3}}},
       {{"aten::index_copy", "$0, 0, $1, $2"}}},
      {{{{2, 3}}}, {{"aten::to_dense", "$0, dtype=f64"}}},
  };
}

}  // namespace

std::vector<Row> foreign_rows() {
  std::vector<Row> rows;
  for (const auto& cases : {one_tensor(), along_a_dim(), linear_algebra(),
                            complex_numbers(), images_and_lists()}) {
    for (const Case& c : cases) rows.push_back(foreign_row(c));
  }
  return rows;
}

}  // namespace braid::parity
