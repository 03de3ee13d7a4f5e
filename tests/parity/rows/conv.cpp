#include <fmt/format.h>

#include "../row.h"
#include "braid/ops/build/functions.h"

namespace braid::parity {
namespace {

using Vars = std::vector<Var>;

// One convolution: names of the letters as in the op, S spatial sizes.
struct Case {
  std::string note;
  int64_t n = 2, in = 3, out = 4;
  Ints kernel = {3};
  Conv options = {};
  bool bias = true;
};

std::optional<at::Tensor> optional(const at::Tensor& t) {
  return t.defined() ? std::optional(t) : std::nullopt;
}

Ints spread(Ints list, int64_t dims) {
  list.resize(static_cast<size_t>(dims), list.back());
  return list;
}

Conv spread(Conv o, int64_t dims) {
  o.stride = spread(o.stride, dims);
  o.padding = spread(o.padding, dims);
  o.dilation = spread(o.dilation, dims);
  o.output_padding = spread(o.output_padding, dims);
  return o;
}

at::Tensor reference(const Tensors& t, int64_t dims, bool transposed,
                     const Conv& o) {
  auto b = optional(t[2]);
  if (transposed) {
    auto f =
        dims == 1 ? at::conv_transpose1d
        : dims == 2
            ? static_cast<decltype(&at::conv_transpose1d)>(at::conv_transpose2d)
            : static_cast<decltype(&at::conv_transpose1d)>(
                  at::conv_transpose3d);
    return f(t[0], t[1], b, o.stride, o.padding, o.output_padding, o.groups,
             o.dilation);
  }
  if (dims == 1) {
    return at::conv1d(t[0], t[1], b, o.stride, o.padding, o.dilation, o.groups);
  }
  if (dims == 2) {
    return at::conv2d(t[0], t[1], b, o.stride, o.padding, o.dilation, o.groups);
  }
  return at::conv3d(t[0], t[1], b, o.stride, o.padding, o.dilation, o.groups);
}

Var build(const Vars& v, int64_t dims, bool transposed, const Conv& o) {
  if (transposed) {
    if (dims == 1) return conv_transpose1d(v[0], v[1], v[2], o);
    if (dims == 2) return conv_transpose2d(v[0], v[1], v[2], o);
    return conv_transpose3d(v[0], v[1], v[2], o);
  }
  if (dims == 1) return conv1d(v[0], v[1], v[2], o);
  if (dims == 2) return conv2d(v[0], v[1], v[2], o);
  return conv3d(v[0], v[1], v[2], o);
}

std::string op_name(int64_t dims, bool transposed) {
  return fmt::format("conv{}{}d", transposed ? "_transpose" : "", dims);
}

// x[N, C, S], w[O, C/g, K] or [C, O/g, K], b[O].
std::vector<Arg> operands(const Case& c, int64_t dims, bool transposed) {
  Shape x{c.n, c.in}, w{c.out, c.in / c.options.groups};
  if (transposed) w = {c.in, c.out / c.options.groups};
  constexpr int64_t kSizes[] = {7, 6, 5};
  for (int64_t d = 0; d < dims; ++d) x.push_back(kSizes[d]);
  for (int64_t k : spread(c.kernel, dims)) w.push_back(k);
  return {{x}, {w}, c.bias ? Arg{{c.out}} : missing()};
}

Row conv_row(const Case& c, int64_t dims, bool transposed) {
  Conv o = spread(c.options, dims);
  return {
      .op = op_name(dims, transposed),
      .args = operands(c, dims, transposed),
      .attrs = {},
      .reference =
          [=](const Tensors& t) { return reference(t, dims, transposed, o); },
      .build = [=](const Vars& v) { return build(v, dims, transposed, o); },
      .note = c.note};
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {.note = "plain"},
      {.note = "no bias", .bias = false},
      {.note = "strided", .kernel = {3, 2}, .options = {.stride = {2, 1}}},
      {.note = "padded", .options = {.padding = {1, 2, 0}}},
      {.note = "dilated", .options = {.padding = {2}, .dilation = {2, 1}}},
      {.note = "groups",
       .in = 4,
       .out = 6,
       .options = {.padding = {1}, .groups = 2}},
      {.note = "depthwise",
       .in = 4,
       .options = {.padding = {1}, .groups = 4},
       .bias = false},
      {.note = "depthwise twice",
       .in = 3,
       .out = 6,
       .options = {.stride = {2}, .groups = 3}},
      {.note = "one by one", .in = 5, .kernel = {1}},
      {.note = "one by one strided", .kernel = {1}, .options = {.stride = {2}}},
      {.note = "single channels", .n = 1, .in = 1, .out = 1, .kernel = {2}},
      {.note = "everything",
       .in = 4,
       .out = 8,
       .kernel = {2, 3, 2},
       .options = {.stride = {2, 1, 3},
                   .padding = {1, 2, 1},
                   .dilation = {2, 1, 1},
                   .groups = 2}},
      {.note = "empty batch", .n = 0},
  };
  return all;
}

const std::vector<Case>& transposed_cases() {
  static const std::vector<Case> all{
      {.note = "output padding",
       .options = {.stride = {2, 3, 2}, .output_padding = {1, 2, 1}}},
      {.note = "output padding, dilated",
       .in = 4,
       .options = {.padding = {1},
                   .dilation = {3},
                   .groups = 2,
                   .output_padding = {2, 1, 0}}},
      {.note = "upscaling",
       .kernel = {4},
       .options = {.stride = {2}, .padding = {1}}},
  };
  return all;
}

// The input comes as a transposed view.
Row strided_input(int64_t dims, bool transposed) {
  Row row = conv_row({.note = "of a transpose"}, dims, transposed);
  std::swap(row.args[0].shape[1], row.args[0].shape[2]);
  row.build = [=, plain = row.build](const Vars& v) {
    return plain({transpose(v[0], 1, 2), v[1], v[2]});
  };
  row.reference = [=, plain = row.reference](const Tensors& t) {
    return plain({t[0].transpose(1, 2), t[1], t[2]});
  };
  return row;
}

// A weight that is a view, and an input without a batch.
Row unbatched(int64_t dims, bool transposed) {
  Row row = conv_row({.note = "unbatched", .out = 3}, dims, transposed);
  row.args[0].shape.erase(row.args[0].shape.begin());
  row.build = [=, plain = row.build](const Vars& v) {
    return plain({v[0], transpose(v[1], 0, 1), v[2]});
  };
  row.reference = [=, plain = row.reference](const Tensors& t) {
    return plain({t[0], t[1].transpose(0, 1), t[2]});
  };
  return row;
}

// The kernel is an input of the step: members have the same values.
Row fixed_weight(int64_t dims, bool transposed) {
  Row row = conv_row({.note = "fixed weight", .bias = false}, dims, transposed);
  row.args[1] = index(row.args[1].shape, 5);
  row.build = [plain = row.build](const Vars& v) {
    return plain({v[0], cast(v[1], v[0].dtype()), v[2]});
  };
  row.reference = [plain = row.reference](const Tensors& t) {
    return plain({t[0], t[1].to(t[0].scalar_type()), t[2]});
  };
  return row;
}

// The input is the same for all members: dense when there is one group.
Row constant_input(int64_t dims, bool transposed, int64_t groups) {
  Case c{.note = fmt::format("constant input, {} groups", groups),
         .in = 4,
         .options = {.padding = {1}, .groups = groups}};
  Row row = conv_row(c, dims, transposed);
  Shape shape = row.args[0].shape;
  row.args.erase(row.args.begin());
  row.build = [=, plain = row.build](const Vars& v) {
    return plain({full_like(v[0], shape, 0.5), v[0], v[1]});
  };
  row.reference = [=, plain = row.reference](const Tensors& t) {
    return plain({at::full(shape, 0.5, t[0].options()), t[0], t[1]});
  };
  return row;
}

// Two in a row: the second finds its input merged.
Row chained(int64_t dims, bool transposed) {
  Row row = conv_row({.note = "chained", .out = 3}, dims, transposed);
  row.build = [plain = row.build](const Vars& v) {
    return plain({relu(plain(v)), v[1], v[2]});
  };
  row.reference = [plain = row.reference](const Tensors& t) {
    return plain({plain(t).relu(), t[1], t[2]});
  };
  return row;
}

Row padded(std::string padding, Ints kernel, Ints dilation, bool batched) {
  auto dims = static_cast<int64_t>(kernel.size());
  Case c{.note = fmt::format("{} {} {}", padding, shape_text(kernel),
                             shape_text(dilation)),
         .in = 4,
         .kernel = kernel,
         .options = {.dilation = dilation, .groups = 2}};
  Row row = conv_row(c, dims, false);
  if (!batched) row.args[0].shape.erase(row.args[0].shape.begin());
  row.build = [=](const Vars& v) {
    return conv_padded(v[0], v[1], v[2], padding, c.options);
  };
  row.reference = [=](const Tensors& t) {
    Ints one = spread({1}, dims), wide = spread(dilation, dims);
    auto b = optional(t[2]);
    if (dims == 1) return at::conv1d(t[0], t[1], b, one, padding, wide, 2);
    if (dims == 2) return at::conv2d(t[0], t[1], b, one, padding, wide, 2);
    return at::conv3d(t[0], t[1], b, one, padding, wide, 2);
  };
  return row;
}

// Attributes as they were before other dimensions came: no output_padding.
Row plain_attrs() {
  Row row = conv_row({.note = "attrs", .options = {.padding = {1}}}, 2, false);
  row.build = {};
  row.attrs = {{"stride", Ints{1, 1}},
               {"padding", Ints{1, 1}},
               {"dilation", Ints{1, 1}},
               {"groups", int64_t{1}}};
  return row;
}

Row larger() {
  Case c{.note = "larger", .n = 8, .in = 16, .out = 32};
  Row row = conv_row(c, 2, false);
  row.args[0].shape = {8, 16, 12, 12};
  return row;
}

}  // namespace

std::vector<Row> conv_rows() {
  std::vector<Row> rows{plain_attrs(), larger()};
  for (bool transposed : {false, true}) {
    for (int64_t dims : {1, 2, 3}) {
      for (const Case& c : cases()) {
        rows.push_back(conv_row(c, dims, transposed));
      }
      for (auto special : {strided_input, unbatched, fixed_weight, chained}) {
        rows.push_back(special(dims, transposed));
      }
      rows.push_back(constant_input(dims, transposed, 1));
      rows.push_back(constant_input(dims, transposed, 2));
    }
  }
  for (int64_t dims : {1, 2, 3}) {
    for (const Case& c : transposed_cases()) {
      rows.push_back(conv_row(c, dims, true));
    }
  }
  for (const char* padding : {"same", "valid"}) {
    rows.push_back(padded(padding, {3}, {1}, true));
    rows.push_back(padded(padding, {4}, {1}, true));
    rows.push_back(padded(padding, {4}, {1}, false));
    rows.push_back(padded(padding, {3, 2}, {2, 1}, true));
    rows.push_back(padded(padding, {2, 4}, {1}, false));
    rows.push_back(padded(padding, {2, 3, 4}, {1}, true));
  }
  return rows;
}

}  // namespace braid::parity
