#include "built.h"

namespace braid::parity {
namespace {

using Rows = std::vector<Row>;
using at::Tensor;

void add_rows(Rows& rows, Arg x, int64_t dim, const std::string& note) {
  std::string text = fmt::format(" {}{}", dim, note);
  add_built(
      rows, "softmax", x, [=](Var v) { return softmax(v, dim); },
      [=](const Tensor& t) { return t.softmax(dim); }, text);
  add_built(
      rows, "log_softmax", x, [=](Var v) { return log_softmax(v, dim); },
      [=](const Tensor& t) { return t.log_softmax(dim); }, text);
}

// Computed in another type than the input's; the factor has a gradient when
// the input has none.
void add_casts(Rows& rows, Arg x) {
  for (int64_t dim : {0, -1}) {
    rows.push_back(built(
        "softmax", {x, {{}}},
        [=](const Vars& v) {
          return mul(softmax(cast(v[0], DType::kFloat64), dim), v[1]);
        },
        [=](const Tensors& t) { return t[0].softmax(dim, at::kDouble) * t[1]; },
        fmt::format("cast {}", dim)));
    rows.push_back(built(
        "log_softmax", {x, {{}}},
        [=](const Vars& v) {
          return mul(log_softmax(cast(v[0], DType::kFloat64), dim), v[1]);
        },
        [=](const Tensors& t) {
          return t[0].log_softmax(dim, at::kDouble) * t[1];
        },
        fmt::format("cast {}", dim)));
  }
}

}  // namespace

std::vector<Row> softmax_rows() {
  Rows rows;
  const std::pair<Shape, int64_t> places[] = {{{3, 4}, 0},
                                              {{3, 4}, 1},
                                              {{3, 4}, -1},
                                              {{2, 3, 4}, 1},
                                              {{2, 3, 4}, -3},
                                              {{5}, 0},
                                              {{}, 0},
                                              {{}, -1},
                                              {{1}, 0},
                                              {{2, 1, 3}, 1},
                                              {{0, 4}, 1},
                                              {{4, 0}, 1},
                                              {{2, 3, 2, 3, 2}, 2},
                                              {{2, 3, 2, 3, 2}, -1},
                                              {{3, 300}, 1},
                                              {{300, 3}, 0}};
  for (const auto& [shape, dim] : places) add_rows(rows, {shape}, dim, "");
  add_rows(rows, steps({4, 5}), 1, " ties");
  add_rows(rows, special({6, 5}), 1, " special");
  add_rows(rows, special({6, 5}), 0, " special");
  add_casts(rows, {{3, 4}});
  add_casts(rows, index({3, 4}, 5));
  add_built(
      rows, "softmax", {{3, 4}},
      [](Var v) { return softmax(mul_scalar(v, 1000), 1); },
      [](const Tensor& t) { return (t * 1000).softmax(1); }, " large");
  add_built(
      rows, "log_softmax", {{3, 4}},
      [](Var v) { return log_softmax(mul_scalar(v, 1000), 1); },
      [](const Tensor& t) { return (t * 1000).log_softmax(1); }, " large");
  return rows;
}

}  // namespace braid::parity
