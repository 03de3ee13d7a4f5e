#include <limits>

#include "built.h"

namespace braid::parity {
namespace {

using Rows = std::vector<Row>;
using at::Tensor;

// A list of dims for a shape; empty means all.
struct Case {
  Shape shape;
  Ints dims;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> list{
      {{3, 4, 5}, {0}}, {{3, 4, 5}, {-1}},          {{3, 4, 5}, {0, 2}},
      {{3, 4, 5}, {}},  {{2, 3, 2, 3, 2}, {-2, 1}}, {{1}, {0}},
      {{}, {}},         {{2, 1, 3}, {1}},           {{7, 1}, {0}},
      {{64, 40}, {1}},  {{2, 0, 3}, {0}},
  };
  return list;
}

std::vector<int64_t> listed(const Tensor& x, Ints dims) {
  if (dims.empty()) {
    for (int64_t d = 0; d < x.dim(); ++d) dims.push_back(d);
  }
  return dims;
}

std::string text(const Case& c, bool keep) {
  return shape_text(c.dims) + (keep ? " kept" : "");
}

// The graph's own meaning of no dims: nothing is reduced.
void add_no_dims(Rows& rows, const char* op) {
  rows.push_back({.op = op,
                  .args = {{{3, 4}}},
                  .attrs = {{"dims", Ints{}}, {"keep_dims", false}},
                  .reference = [](const Tensors& t) { return t[0].clone(); },
                  .note = "no dims"});
}

void add_sums(Rows& rows) {
  for (bool keep : {false, true}) {
    for (const Case& c : cases()) {
      add_built(
          rows, "sum", {c.shape}, [=](Var x) { return sum(x, c.dims, keep); },
          [=](const Tensor& x) { return x.sum(listed(x, c.dims), keep); },
          text(c, keep));
      add_built(
          rows, "mean", {c.shape}, [=](Var x) { return mean(x, c.dims, keep); },
          [=](const Tensor& x) { return x.mean(listed(x, c.dims), keep); },
          text(c, keep));
      add_built(
          rows, "logsumexp", {c.shape},
          [=](Var x) { return logsumexp(x, c.dims, keep); },
          [=](const Tensor& x) { return x.logsumexp(listed(x, c.dims), keep); },
          text(c, keep));
    }
  }
  add_no_dims(rows, "sum");
  add_no_dims(rows, "mean");
  for (const char* op : {"sum", "mean"}) {
    add_built(
        rows, op, {{400, 300}},
        [=](Var x) { return op[0] == 's' ? sum(x, {0}) : mean(x, {0}); },
        [=](const Tensor& x) { return op[0] == 's' ? x.sum(0) : x.mean(0); });
  }
  add_built(
      rows, "sum", {{0, 3}}, [](Var x) { return sum(x, {0}); },
      [](const Tensor& x) { return x.sum(0); }, "over nothing");
  add_built(
      rows, "logsumexp", special({6, 5}),
      [](Var x) { return logsumexp(x, {1}); },
      [](const Tensor& x) { return x.logsumexp(1); }, "special");
}

void add_whole_numbers(Rows& rows) {
  for (Arg x : {index({3, 4, 2}, 6), mask({3, 4, 2})}) {
    for (const Ints& dims : {Ints{1}, Ints{-1, 0}, Ints{}}) {
      std::string note = " whole" + shape_text(dims);
      add_built(
          rows, "sum", x, [=](Var v) { return sum(v, dims); },
          [=](const Tensor& t) { return t.sum(listed(t, dims)); }, note);
      add_built(
          rows, "any", x, [=](Var v) { return any(v, dims); },
          [=](const Tensor& t) { return t.any(listed(t, dims), false); }, note);
      add_built(
          rows, "all", x, [=](Var v) { return all(v, dims, true); },
          [=](const Tensor& t) { return t.all(listed(t, dims), true); }, note);
      add_built(
          rows, "count_nonzero", x,
          [=](Var v) { return count_nonzero(v, dims); },
          [=](const Tensor& t) { return t.count_nonzero(listed(t, dims)); },
          note);
    }
    add_built(
        rows, "cumsum", x, [](Var v) { return cumsum(v, 1); },
        [](const Tensor& t) { return t.cumsum(1); }, " whole");
    add_built(
        rows, "prod", x, [](Var v) { return prod(v, -1); },
        [](const Tensor& t) { return t.prod(-1); }, " whole");
    add_built(
        rows, "diff", x, [](Var v) { return diff(v, 1); },
        [](const Tensor& t) { return t.diff(1, 1); }, " whole");
    rows.push_back(built(
        "mean", {x, {{}}},
        [](const Vars& v) {
          return mul(mean(cast(v[0], DType::kFloat64), {0}), v[1]);
        },
        [](const Tensors& t) { return t[0].to(at::kDouble).mean(0) * t[1]; },
        "whole"));
  }
  add_built(
      rows, "amax", index({3, 4}, 6), [](Var v) { return amax(v, {0}); },
      [](const Tensor& t) { return t.amax(0); }, " whole");
  add_built(
      rows, "any", steps({3, 4}), [](Var v) { return any(v, {0}); },
      [](const Tensor& t) { return t.any(0); }, " float");
  add_built(
      rows, "all", {{0, 4}}, [](Var v) { return all(v, {0}); },
      [](const Tensor& t) { return t.all(0); }, " of nothing");
}

void add_spreads(Rows& rows) {
  for (const Case& c : cases()) {
    if (c.shape.size() == 5 || c.shape == Shape{1}) continue;
    if (c.shape.empty() || c.shape == Shape{2, 1, 3}) continue;
    for (double correction : {0.0, 1.0, 0.5}) {
      bool keep = correction == 0.5;
      std::string note = text(c, keep) + fmt::format(" {}", correction);
      auto dims = [=](const Tensor& x) { return listed(x, c.dims); };
      add_built(
          rows, "var", {c.shape},
          [=](Var x) { return variance(x, c.dims, correction, keep); },
          [=](const Tensor& x) {
            return at::var(x, dims(x), at::Scalar(correction), keep);
          },
          note);
      add_built(
          rows, "std", {c.shape},
          [=](Var x) { return stddev(x, c.dims, correction, keep); },
          [=](const Tensor& x) {
            return at::std(x, dims(x), at::Scalar(correction), keep);
          },
          note);
    }
  }
  for (const Shape& shape : {Shape{}, Shape{4, 1}}) {  // 0, not NaN
    add_built(
        rows, "var", {shape}, [](Var x) { return variance(x, {-1}, 0); },
        [](const Tensor& x) {
          return at::var(x, at::IntArrayRef{-1}, at::Scalar(0), false);
        },
        " of one");
    add_built(
        rows, "std", {shape}, [](Var x) { return stddev(x, {-1}, 0); },
        [](const Tensor& x) {
          return at::std(x, at::IntArrayRef{-1}, at::Scalar(0), false);
        },
        " of one");
  }
  add_built(
      rows, "std", {{4, 1}}, [](Var x) { return stddev(x, {-1}); },
      [](const Tensor& x) { return x.std(-1); }, " NaN");
}

void add_extremes(Rows& rows) {
  for (const Case& c : cases()) {
    bool keep = c.dims.size() == 1;
    for (Arg x : {Arg{c.shape}, steps(c.shape)}) {
      std::string note =
          text(c, keep) + (x.kind == Arg::Kind::kSteps ? " ties" : "");
      add_built(
          rows, "amax", x, [=](Var v) { return amax(v, c.dims, keep); },
          [=](const Tensor& t) { return t.amax(listed(t, c.dims), keep); },
          note);
      add_built(
          rows, "amin", x, [=](Var v) { return amin(v, c.dims, keep); },
          [=](const Tensor& t) { return t.amin(listed(t, c.dims), keep); },
          note);
    }
  }
  add_built(
      rows, "amax", special({6, 5}), [](Var v) { return amax(v, {1}); },
      [](const Tensor& t) { return t.amax(1); }, " special");
}

void add_norms(Rows& rows) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<Case> shapes{
      {{3, 4, 5}, {1}}, {{3, 4}, {}}, {{}, {}}, {{2, 3, 4}, {0, -1}}};
  for (double ord : {0.0, 1.0, 2.0, kInf, -kInf, 0.5, 1.5, 3.0}) {
    for (const Case& c : shapes) {
      for (bool zeros : {false, true}) {
        if (zeros && ord == -kInf) continue;  // libtorch gives NaN or not
        bool keep = zeros;
        Arg x{c.shape};
        add_built(
            rows, "linalg_vector_norm", x,
            [=](Var v) {
              if (zeros) v = relu(v);
              return vector_norm(v, ord, c.dims, keep);
            },
            [=](const Tensor& t) {
              Tensor v = zeros ? t.relu() : t;
              return at::linalg_vector_norm(v, ord, listed(t, c.dims), keep);
            },
            fmt::format(" {} {}{}", shape_text(c.dims), ord,
                        zeros ? " zeros" : ""));
      }
    }
  }
  for (double ord : {1.0, 2.0, 3.0, kInf}) {
    add_built(
        rows, "linalg_vector_norm", {{3, 4}},
        [=](Var v) { return vector_norm(mul_scalar(v, 0), ord, {1}); },
        [=](const Tensor& t) { return at::norm(t * 0, ord, {1}, false); },
        fmt::format(" {} all zero", ord));
  }
}

void add_along(Rows& rows) {
  const std::pair<Shape, int64_t> places[] = {
      {{3, 4, 5}, 0}, {{3, 4, 5}, 1}, {{3, 4, 5}, -1}, {{6}, 0},
      {{}, 0},        {{2, 1, 3}, 1}, {{2, 0, 3}, 0},  {{4, 0}, 1}};
  for (const auto& [shape, d] : places) {
    int64_t dim = d;
    bool empty = shape == Shape{4, 0};
    for (Arg x : {Arg{shape}, steps(shape)}) {
      std::string note =
          fmt::format(" {}{}", dim, x.kind == Arg::Kind::kSteps ? " ties" : "");
      add_built(
          rows, "prod", x, [=](Var v) { return prod(v, dim, dim == 1); },
          [=](const Tensor& t) { return t.prod(dim, dim == 1); }, note);
      add_built(
          rows, "cumprod", x, [=](Var v) { return cumprod(v, dim); },
          [=](const Tensor& t) { return t.cumprod(dim); }, note);
      add_built(
          rows, "cumsum", x, [=](Var v) { return cumsum(v, dim); },
          [=](const Tensor& t) { return t.cumsum(dim); }, note);
      if (empty) continue;
      add_built(
          rows, "argmax", x, [=](Var v) { return argmax(v, dim, dim == 0); },
          [=](const Tensor& t) { return t.argmax(dim, dim == 0); }, note);
      add_built(
          rows, "argmin", x, [=](Var v) { return argmin(v, dim); },
          [=](const Tensor& t) { return t.argmin(dim); }, note);
    }
  }
  for (const Shape& shape : {Shape{3, 4}, Shape{}, Shape{2, 3, 2}}) {
    add_built(
        rows, "prod", {shape}, [](Var v) { return prod(v); },
        [](const Tensor& t) { return t.prod(); }, " flat");
    add_built(
        rows, "argmax", steps(shape), [](Var v) { return argmax(v); },
        [](const Tensor& t) { return t.argmax(); }, " flat");
    add_built(
        rows, "argmin", steps(shape), [](Var v) { return argmin(v); },
        [](const Tensor& t) { return t.argmin(); }, " flat");
  }
  for (int64_t n : {1, 2}) {
    for (int64_t dim : {0, -1, 1}) {
      add_built(
          rows, "diff", {{4, 3, 2}}, [=](Var v) { return diff(v, dim, n); },
          [=](const Tensor& t) { return t.diff(n, dim); },
          fmt::format(" {} {}", dim, n));
    }
  }
}

}  // namespace

std::vector<Row> reduce_rows() {
  Rows rows;
  add_sums(rows);
  add_whole_numbers(rows);
  add_spreads(rows);
  add_extremes(rows);
  add_norms(rows);
  add_along(rows);
  return rows;
}

}  // namespace braid::parity
