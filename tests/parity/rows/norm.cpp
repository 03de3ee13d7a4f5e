#include <limits>

#include "../row.h"
#include "braid/ops/build/functions.h"

namespace braid::parity {
namespace {

using Vars = std::vector<Var>;

std::optional<at::Tensor> optional(const at::Tensor& t) {
  return t.defined() ? std::optional(t) : std::nullopt;
}

Arg given(bool there, Shape shape) {
  return there ? Arg{std::move(shape)} : missing();
}

Shape last(const Shape& x, int64_t dims) { return {x.end() - dims, x.end()}; }

Row layer_norm_row(Shape x, bool weight, bool bias, int64_t dims,
                   std::string note) {
  Shape affine = last(x, dims);
  return {.op = "layer_norm",
          .args = {{x}, given(weight, affine), given(bias, affine)},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                return at::layer_norm(t[0], affine, optional(t[1]),
                                      optional(t[2]), 1e-5);
              },
          .build =
              [=](const Vars& v) {
                return layer_norm(v[0], v[1], v[2], 1e-5, dims);
              },
          .note = std::move(note)};
}

Row rms_norm_row(Shape x, bool weight, std::optional<double> eps, int64_t dims,
                 std::string note) {
  Shape affine = last(x, dims);
  return {
      .op = "rms_norm",
      .args = {{x}, given(weight, affine)},
      .attrs = {},
      .reference =
          [=](const Tensors& t) {
            return at::rms_norm(t[0], affine, optional(t[1]), eps);
          },
      .build = [=](const Vars& v) { return rms_norm(v[0], v[1], eps, dims); },
      .note = std::move(note)};
}

Row group_norm_row(Shape x, int64_t groups, bool weight, bool bias,
                   std::string note) {
  Shape channels{x[1]};
  return {.op = "group_norm",
          .args = {{x}, given(weight, channels), given(bias, channels)},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                return at::group_norm(t[0], groups, optional(t[1]),
                                      optional(t[2]), 1e-3);
              },
          .build =
              [=](const Vars& v) {
                return group_norm(v[0], groups, v[1], v[2], 1e-3);
              },
          .note = std::move(note)};
}

// Inputs and weights that come as views.
Row of_transpose(Row row) {
  std::swap(row.args[0].shape[0], row.args[0].shape[1]);
  row.note += " of a transpose";
  row.build = [plain = row.build](Vars v) {
    v[0] = transpose(v[0], 0, 1);
    return plain(v);
  };
  row.reference = [plain = row.reference](Tensors t) {
    t[0] = t[0].transpose(0, 1);
    return plain(t);
  };
  return row;
}

// Weights that lie with gaps in memory.
Row of_sliced_weights(Row row) {
  int64_t size = 2 * row.args[0].shape[1];
  row.args[1].shape = row.args[2].shape = {size};
  row.note += " with gaps";
  row.build = [plain = row.build, size](Vars v) {
    for (size_t i : {1, 2}) v[i] = slice(v[i], 0, 0, size, 2);
    return plain(v);
  };
  row.reference = [plain = row.reference, size](Tensors t) {
    for (size_t i : {1, 2}) t[i] = t[i].slice(0, 0, size, 2).contiguous();
    return plain(t);
  };
  return row;
}

// On channels that a convolution left merged.
Row after_conv(Row row) {
  int64_t channels = row.args[0].shape[1];
  row.args.push_back({{channels, channels, 1, 1}});
  row.note += " after a convolution";
  row.build = [plain = row.build](Vars v) {
    v[0] = conv2d(v[0], v.back(), {});
    return plain(v);
  };
  row.reference = [plain = row.reference](Tensors t) {
    t[0] = at::conv2d(t[0], t.back());
    return plain(t);
  };
  return row;
}

// Batch and instance norm share their arguments.
using Function = decltype(&at::batch_norm);
struct Kind {
  const char* op;
  Function reference;
  Normed (*build)(Var, Var, Var, Var, Var, const Norm&);
};
constexpr Kind kBatch{"batch_norm", at::batch_norm, batch_norm};
constexpr Kind kInstance{"instance_norm", at::instance_norm, instance_norm};

struct Options {
  bool weight = true, bias = true, running = false;
  Norm norm = {};
};

// libtorch changes running statistics in place: it gets copies.
std::optional<at::Tensor> copy(const at::Tensor& t) {
  return t.defined() ? std::optional(t.detach().clone()) : std::nullopt;
}

Row norm_row(const Kind& kind, Shape x, Options o, std::string note) {
  Shape channels{x[1]};
  Norm norm = o.norm;
  return {.op = kind.op,
          .args = {{x},
                   given(o.weight, channels),
                   given(o.bias, channels),
                   given(o.running, channels),
                   o.running ? positive(channels) : missing()},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                return kind.reference(t[0], optional(t[1]), optional(t[2]),
                                      copy(t[3]), copy(t[4]), norm.training,
                                      norm.momentum, norm.eps, false);
              },
          .build =
              [=](const Vars& v) {
                return kind.build(v[0], v[1], v[2], v[3], v[4], norm).y;
              },
          .note = std::move(note)};
}

// The new running statistics. They carry no gradient, so that all operands
// are integers here, and something else beside them has one.
Row statistics_row(const Kind& kind, Shape x, double momentum) {
  Shape channels{x[1]};
  Norm norm{.momentum = momentum};
  return {.op = kind.op,
          .args = {index(x, 9),
                   index(channels, 5),
                   index(channels, 5),
                   {{2, x[1]}}},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                auto type = t[3].scalar_type();
                at::Tensor mean = t[1].to(type), var = t[2].to(type);
                kind.reference(t[0].to(type), {}, {}, mean, var, true, momentum,
                               1e-5, false);
                return t[3] + at::stack({mean, var});
              },
          .build =
              [=](const Vars& v) {
                DType type = v[3].dtype();
                Normed n = kind.build(cast(v[0], type), {}, {},
                                      cast(v[1], type), cast(v[2], type), norm);
                return add(v[3], cat({unsqueeze(n.running_mean, 0),
                                      unsqueeze(n.running_var, 0)},
                                     0));
              },
          .note = "statistics " + shape_text(x) + std::to_string(momentum)};
}

void add_norms(std::vector<Row>& rows, const Kind& kind) {
  const Options affine, plain{.weight = false, .bias = false};
  const Options kept{.running = true, .norm = {.momentum = 0.3, .eps = 1e-3}};
  const Options eval{.running = true, .norm = {.training = false}};
  Options eval_plain = eval, kept_plain = kept, half = kept;
  eval_plain.weight = eval_plain.bias = false;
  kept_plain.weight = kept_plain.bias = half.bias = false;
  for (const Shape& x : std::vector<Shape>{
           {4, 3, 5}, {4, 3, 5, 2}, {2, 3, 2, 3, 2}, {1, 2, 6}}) {
    rows.push_back(norm_row(kind, x, affine, "affine " + shape_text(x)));
    rows.push_back(norm_row(kind, x, plain, "plain " + shape_text(x)));
    rows.push_back(norm_row(kind, x, kept, "kept " + shape_text(x)));
    rows.push_back(norm_row(kind, x, kept_plain, "kept plain"));
    rows.push_back(norm_row(kind, x, half, "no bias " + shape_text(x)));
    rows.push_back(norm_row(kind, x, eval, "eval " + shape_text(x)));
    rows.push_back(norm_row(kind, x, eval_plain, "eval plain"));
    for (double momentum : {0.1, 0.9}) {
      rows.push_back(statistics_row(kind, x, momentum));
    }
  }
  rows.push_back(of_transpose(norm_row(kind, {4, 3, 5}, kept, "kept")));
  rows.push_back(of_transpose(norm_row(kind, {4, 3, 5}, eval, "eval")));
  rows.push_back(after_conv(norm_row(kind, {2, 3, 4, 4}, kept, "kept")));
  rows.push_back(after_conv(norm_row(kind, {2, 3, 4, 4}, eval, "eval")));
}

void add_batch_norms(std::vector<Row>& rows) {
  add_norms(rows, kBatch);
  Options kept{.running = true};
  Options eval{.running = true, .norm = {.training = false}};
  rows.push_back(norm_row(kBatch, {6, 4}, kept, "2d"));
  rows.push_back(norm_row(kBatch, {6, 4}, eval, "2d eval"));
  rows.push_back(norm_row(kBatch, {0, 3, 4}, kept, "empty"));
  rows.push_back(norm_row(kBatch, {0, 3}, eval, "empty eval"));
  rows.push_back(statistics_row(kBatch, {6, 4}, 0.1));
  rows.push_back(statistics_row(kBatch, {0, 4, 2}, 0.1));
}

void add_layer_norms(std::vector<Row>& rows) {
  struct Case {
    Shape x;
    int64_t dims;
    std::string note;
  };
  const Case cases[] = {
      {{4, 8}, 1, "2d"},
      {{2, 3, 5, 16}, 1, "4d"},
      {{1, 3}, 1, "small"},
      {{64, 200}, 1, "large"},
      {{7}, 1, "1d"},
      {{0, 3}, 1, "no rows"},
      {{4, 3, 5}, 2, "two dims"},
      {{2, 4, 3, 2}, 3, "three dims"},
      {{3, 4}, 2, "all dims"},
      {{2, 1, 4}, 2, "ones"},
      {{2, 3, 1, 5, 2}, 2, "5d"},
  };
  for (const auto& [x, dims, note] : cases) {
    rows.push_back(layer_norm_row(x, true, true, dims, note));
    rows.push_back(layer_norm_row(x, true, false, dims, note + " no bias"));
    rows.push_back(layer_norm_row(x, false, true, dims, note + " no weight"));
    rows.push_back(layer_norm_row(x, false, false, dims, note + " plain"));
    rows.push_back(rms_norm_row(x, true, std::nullopt, dims, note));
    rows.push_back(rms_norm_row(x, false, 1e-5, dims, note + " plain"));
    rows.push_back(rms_norm_row(x, true, 0.1, dims, note + " large eps"));
  }
  // With a small eps the gradient of a single entry is all rounding.
  rows.push_back(rms_norm_row({3, 1}, true, 0.5, 1, "one entry"));
  for (int64_t dims : {1, 2}) {
    rows.push_back(
        of_transpose(layer_norm_row({4, 3, 5}, true, true, dims, "view")));
    rows.push_back(
        of_transpose(rms_norm_row({4, 3, 5}, true, 1e-6, dims, "view")));
  }
}

void add_group_norms(std::vector<Row>& rows) {
  struct Case {
    Shape x;
    int64_t groups;
  };
  const Case cases[] = {
      {{3, 4}, 2},          {{2, 6, 5}, 3}, {{2, 6, 3, 4}, 2},
      {{2, 4, 3, 2, 2}, 4}, {{2, 6, 5}, 1}, {{1, 4, 1}, 1},
      {{0, 4, 3}, 2},       {{2, 4, 0}, 2}, {{2, 32, 16, 16}, 8}};
  for (const auto& [x, groups] : cases) {
    std::string note = shape_text(x) + std::to_string(groups);
    rows.push_back(group_norm_row(x, groups, true, true, note));
    rows.push_back(group_norm_row(x, groups, false, false, note + " plain"));
    rows.push_back(group_norm_row(x, groups, true, false, note + " no bias"));
  }
  Row affine = group_norm_row({2, 6, 3, 4}, 3, true, true, "affine");
  Row plain = group_norm_row({2, 6, 3, 4}, 3, false, false, "plain");
  rows.push_back(of_sliced_weights(affine));
  for (const Row& row : {affine, plain}) {
    rows.push_back(of_transpose(row));
    rows.push_back(after_conv(row));
  }
}

Row weight_norm_row(Shape v, int64_t dim) {
  Shape g(v.size(), 1);
  if (dim == -1) {
    g = {};
  } else {
    g[static_cast<size_t>(dim)] = v[static_cast<size_t>(dim)];
  }
  return {
      .op = "weight_norm",
      .args = {{v}, {g}},
      .attrs = {},
      .reference =
          [=](const Tensors& t) { return at::_weight_norm(t[0], t[1], dim); },
      .build = [=](const Vars& x) { return weight_norm(x[0], x[1], dim); },
      .note = shape_text(v) + std::to_string(dim)};
}

// As torch.nn.functional.local_response_norm.
at::Tensor response_norm(const at::Tensor& x, int64_t size, double alpha,
                         double beta, double k) {
  if (x.numel() == 0) return x;
  int64_t n = x.size(0), c = x.size(1);
  at::Tensor squares = (x * x).reshape({n, 1, c, -1});
  squares = at::constant_pad_nd(squares, {0, 0, size / 2, (size - 1) / 2}, 0);
  at::Tensor means = at::avg_pool2d(squares, {size, 1}, {1, 1});
  return x / (means * alpha + k).pow(beta).reshape(x.sizes());
}

Row response_row(Shape x, int64_t size, double alpha, double beta, double k) {
  return {.op = "local_response_norm",
          .args = {{x}},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                return response_norm(t[0], size, alpha, beta, k);
              },
          .build =
              [=](const Vars& v) {
                return local_response_norm(v[0], size, alpha, beta, k);
              },
          .note = shape_text(x) + std::to_string(size)};
}

// As torch.nn.functional.normalize.
Row normalize_row(Arg x, double p, int64_t dim, double eps) {
  return {.op = "normalize",
          .args = {x},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                return t[0] / t[0].norm(p, {dim}, true).clamp_min(eps);
              },
          .build = [=](const Vars& v) { return normalize(v[0], p, dim, eps); },
          .note = shape_text(x.shape) + std::to_string(p)};
}

void add_compositions(std::vector<Row>& rows) {
  for (int64_t dim : {0, 1, 2, -1}) {
    rows.push_back(weight_norm_row({4, 3, 5}, dim));
  }
  rows.push_back(weight_norm_row({4, 3}, 0));
  rows.push_back(weight_norm_row({1, 3}, 0));
  rows.push_back(weight_norm_row({1, 3}, -1));
  rows.push_back(response_row({2, 7, 4}, 3, 1e-4, 0.75, 1));
  rows.push_back(response_row({2, 7, 4, 3}, 4, 0.5, 0.6, 2));
  rows.push_back(response_row({1, 2, 2, 2, 2}, 5, 1, 0.75, 0.5));
  rows.push_back(response_row({2, 3, 4}, 1, 1, 1, 1));
  rows.push_back(response_row({0, 3, 4}, 2, 1, 1, 1));
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (double p : {1.0, 2.0, 3.0, kInf}) {
    rows.push_back(normalize_row({{4, 5}}, p, 1, 1e-12));
    rows.push_back(normalize_row({{4, 5, 3}}, p, -2, 1e-12));
    rows.push_back(normalize_row({{2, 3, 4}}, p, 0, 2.5));
  }
  rows.push_back(normalize_row(steps({6, 1}), 2, 1, 1e-12));
  rows.push_back(normalize_row({{0, 3}}, 2, 1, 1e-12));
}

}  // namespace

std::vector<Row> norm_rows() {
  std::vector<Row> rows;
  add_layer_norms(rows);
  add_batch_norms(rows);
  add_norms(rows, kInstance);
  add_group_norms(rows);
  add_compositions(rows);
  return rows;
}

}  // namespace braid::parity
