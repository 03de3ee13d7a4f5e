#include <fmt/format.h>

#include "../row.h"
#include "braid/ops/build/functions.h"

namespace braid::parity {
namespace {

using Vars = std::vector<Var>;

Ints spread(Ints list, int64_t dims) {
  if (list.empty()) return list;
  list.resize(static_cast<size_t>(dims), list.back());
  return list;
}

Pool spread(Pool o, int64_t dims) {
  o.kernel = spread(o.kernel, dims);
  o.stride = spread(o.stride, dims);
  o.padding = spread(o.padding, dims);
  o.dilation = spread(o.dilation, dims);
  return o;
}

Shape image(int64_t dims, Shape lead = {2, 3}) {
  constexpr int64_t kSizes[] = {9, 7, 6};
  for (int64_t d = 0; d < dims; ++d) lead.push_back(kSizes[d]);
  return lead;
}

using Results = std::tuple<at::Tensor, at::Tensor>;

Results max_with_indices(const at::Tensor& x, int64_t dims, const Pool& o) {
  auto f = dims == 1   ? at::max_pool1d_with_indices
           : dims == 2 ? static_cast<decltype(&at::max_pool1d_with_indices)>(
                             at::max_pool2d_with_indices)
                       : static_cast<decltype(&at::max_pool1d_with_indices)>(
                             at::max_pool3d_with_indices);
  return f(x, o.kernel, o.stride, o.padding, o.dilation, o.ceil_mode);
}

at::Tensor avg(const at::Tensor& x, int64_t dims, const Pool& o) {
  if (dims == 1) {
    return at::avg_pool1d(x, o.kernel, o.stride, o.padding, o.ceil_mode,
                          o.count_include_pad);
  }
  if (dims == 2) {
    return at::avg_pool2d(x, o.kernel, o.stride, o.padding, o.ceil_mode,
                          o.count_include_pad, o.divisor_override);
  }
  return at::avg_pool3d(x, o.kernel, o.stride, o.padding, o.ceil_mode,
                        o.count_include_pad, o.divisor_override);
}

Var build_avg(Var x, int64_t dims, const Pool& o) {
  if (dims == 1) return avg_pool1d(x, o);
  if (dims == 2) return avg_pool2d(x, o);
  return avg_pool3d(x, o);
}

Var build_max(Var x, int64_t dims, const Pool& o) {
  if (dims == 1) return max_pool1d(x, o);
  if (dims == 2) return max_pool2d(x, o);
  return max_pool3d(x, o);
}

std::string pool_note(const Pool& o, const Arg& x) {
  return fmt::format(
      "{} k{} s{} p{} d{} {}{}", shape_text(x.shape), shape_text(o.kernel),
      shape_text(o.stride), shape_text(o.padding), shape_text(o.dilation),
      o.ceil_mode ? "ceil " : "", o.count_include_pad ? "" : "without padding");
}

Row max_row(Arg x, int64_t dims, Pool o) {
  o = spread(o, dims);
  return {.op = fmt::format("max_pool{}d", dims),
          .args = {x},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                return std::get<0>(max_with_indices(t[0], dims, o));
              },
          .build = [=](const Vars& v) { return build_max(v[0], dims, o); },
          .note = pool_note(o, x)};
}

Row indices_row(Arg x, int64_t dims, Pool o) {
  Row row = max_row(x, dims, o);
  o = spread(o, dims);
  row.note = "indices " + row.note;
  row.build = [=](const Vars& v) {
    return max_pool_with_indices(v[0], dims, o).indices;
  };
  row.reference = [=](const Tensors& t) {
    return std::get<1>(max_with_indices(t[0], dims, o));
  };
  return row;
}

Row avg_row(Arg x, int64_t dims, Pool o) {
  o = spread(o, dims);
  return {.op = fmt::format("avg_pool{}d", dims),
          .args = {x},
          .attrs = {},
          .reference = [=](const Tensors& t) { return avg(t[0], dims, o); },
          .build = [=](const Vars& v) { return build_avg(v[0], dims, o); },
          .note = pool_note(o, x)};
}

// Windows that both kinds know.
const std::vector<Pool>& windows() {
  static const std::vector<Pool> all{
      {.kernel = {2}},
      {.kernel = {3, 2}, .stride = {2, 1}, .padding = {1}},
      {.kernel = {3}, .stride = {1}, .padding = {1}},
      {.kernel = {2}, .stride = {3}},
      {.kernel = {3, 2}, .stride = {2}, .ceil_mode = true},
      // The last window would begin in the padding and is dropped.
      {.kernel = {2}, .stride = {2}, .padding = {1}, .ceil_mode = true},
      {.kernel = {1}, .stride = {2}},
      {.kernel = {9, 7, 6}},
  };
  return all;
}

void add_windows(std::vector<Row>& rows, int64_t dims) {
  Arg x{image(dims)};
  for (const Pool& o : windows()) {
    rows.push_back(max_row(x, dims, o));
    rows.push_back(avg_row(x, dims, o));
    Pool bare = o;
    bare.count_include_pad = false;
    if (o.padding[0] > 0) rows.push_back(avg_row(x, dims, bare));
  }
  Pool plain{.kernel = {3, 2}, .stride = {2}};
  for (auto row : {max_row, avg_row}) {
    rows.push_back(row({image(dims, {3})}, dims, plain));
    rows.push_back(row({image(dims, {0, 2})}, dims, plain));
    rows.push_back(row({image(dims, {1, 1})}, dims, plain));
  }
  Pool divided{.kernel = {3}, .stride = {2}, .padding = {1}};
  divided.divisor_override = 5;
  if (dims > 1) rows.push_back(avg_row(x, dims, divided));
}

// Dilation, places, ties, NaN and integers.
void add_max_only(std::vector<Row>& rows, int64_t dims) {
  Pool dilated{.kernel = {2}, .stride = {1}, .padding = {1}, .dilation = {2}};
  Pool ceiled{.kernel = {2},
              .stride = {2},
              .padding = {1},
              .dilation = {3, 2},
              .ceil_mode = true};
  Pool overlapping{.kernel = {3}, .stride = {1}, .padding = {1}};
  for (const Pool& o : {dilated, ceiled, overlapping}) {
    rows.push_back(max_row({image(dims)}, dims, o));
    rows.push_back(max_row(steps(image(dims)), dims, o));
    rows.push_back(max_row(special(image(dims)), dims, o));
    rows.push_back(indices_row(steps(image(dims)), dims, o));
    rows.push_back(indices_row({image(dims, {3})}, dims, o));
  }
  if (dims < 3) rows.push_back(max_row(index(image(dims), 9), dims, dilated));
}

at::Tensor adaptive_avg(const at::Tensor& x, const Ints& size) {
  if (size.size() == 1) return at::adaptive_avg_pool1d(x, size);
  if (size.size() == 2) return at::adaptive_avg_pool2d(x, size);
  return at::adaptive_avg_pool3d(x, size);
}

Results adaptive_max(const at::Tensor& x, const Ints& size) {
  if (size.size() == 1) return at::adaptive_max_pool1d(x, size);
  if (size.size() == 2) return at::adaptive_max_pool2d(x, size);
  return at::adaptive_max_pool3d(x, size);
}

Var build_adaptive_avg(Var x, const Ints& size) {
  if (size.size() == 1) return adaptive_avg_pool1d(x, size);
  if (size.size() == 2) return adaptive_avg_pool2d(x, size);
  return adaptive_avg_pool3d(x, size);
}

Pooled build_adaptive_max(Var x, const Ints& size) {
  if (size.size() == 1) return adaptive_max_pool1d(x, size);
  if (size.size() == 2) return adaptive_max_pool2d(x, size);
  return adaptive_max_pool3d(x, size);
}

Row adaptive_row(const char* kind, Arg x, Ints size,
                 std::function<Var(Var)> build,
                 std::function<at::Tensor(const at::Tensor&)> reference) {
  return {.op = fmt::format("adaptive_{}_pool{}d", kind, size.size()),
          .args = {x},
          .attrs = {},
          .reference = [=](const Tensors& t) { return reference(t[0]); },
          .build = [=](const Vars& v) { return build(v[0]); },
          .note = shape_text(x.shape) + shape_text(size)};
}

void add_adaptive(std::vector<Row>& rows, Arg x, Ints size) {
  rows.push_back(adaptive_row(
      "avg", x, size, [=](Var v) { return build_adaptive_avg(v, size); },
      [=](const at::Tensor& t) { return adaptive_avg(t, size); }));
  rows.push_back(adaptive_row(
      "max", x, size, [=](Var v) { return build_adaptive_max(v, size).y; },
      [=](const at::Tensor& t) { return std::get<0>(adaptive_max(t, size)); }));
  rows.push_back(adaptive_row(
      "max", x, size,
      [=](Var v) { return build_adaptive_max(v, size).indices; },
      [=](const at::Tensor& t) { return std::get<1>(adaptive_max(t, size)); }));
}

// [..., H, W, C] seen as images.
Row channels_last(bool is_max, Pool o) {
  Row row =
      is_max ? max_row({{2, 8, 6, 3}}, 2, o) : avg_row({{2, 8, 6, 3}}, 2, o);
  row.note = "channels last " + row.note;
  row.build = [plain = row.build](const Vars& v) {
    return plain({permute(v[0], {0, 3, 1, 2})});
  };
  row.reference = [plain = row.reference](const Tensors& t) {
    return plain({t[0].permute({0, 3, 1, 2})});
  };
  return row;
}

// On channels that a convolution left merged.
Row after_conv(bool is_max) {
  Pool o{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  o = spread(o, 2);
  return {.op = is_max ? "max_pool2d" : "avg_pool2d",
          .args = {{{2, 3, 8, 8}}, {{4, 3, 3, 3}}},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                at::Tensor x = at::conv2d(t[0], t[1]);
                return is_max ? std::get<0>(max_with_indices(x, 2, o))
                              : avg(x, 2, o);
              },
          .build =
              [=](const Vars& v) {
                Var x = conv2d(v[0], v[1], {});
                return is_max ? max_pool2d(x, o) : avg_pool2d(x, o);
              },
          .note = "after a convolution"};
}

// Attributes as they were before there were more of them.
Row plain_attrs(const char* op) {
  Pool o{.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}};
  bool is_max = op == std::string("max_pool2d");
  Row row =
      is_max ? max_row({{2, 3, 9, 7}}, 2, o) : avg_row({{2, 3, 9, 7}}, 2, o);
  row.build = {};
  row.attrs = {
      {"kernel", o.kernel}, {"stride", o.stride}, {"padding", o.padding}};
  return row;
}

}  // namespace

std::vector<Row> pool_rows() {
  std::vector<Row> rows{plain_attrs("max_pool2d"), plain_attrs("avg_pool2d"),
                        after_conv(true), after_conv(false)};
  for (int64_t dims : {1, 2, 3}) {
    add_windows(rows, dims);
    add_max_only(rows, dims);
    Arg x{image(dims)};
    for (Ints size : {Ints{1, 1, 1}, {3, 7, 2}, {4, 3, 5}, {12, 9, 7}}) {
      size.resize(static_cast<size_t>(dims));
      add_adaptive(rows, x, size);
    }
    Ints size{4, 3, 2};
    size.resize(static_cast<size_t>(dims));
    add_adaptive(rows, {image(dims, {3})}, size);
    add_adaptive(rows, steps(image(dims)), size);
    add_adaptive(rows, special(image(dims, {1, 1})), size);
  }
  rows.push_back(channels_last(true, {.kernel = {3}, .stride = {2}}));
  rows.push_back(channels_last(false, {.kernel = {3}, .stride = {2}}));
  return rows;
}

}  // namespace braid::parity
