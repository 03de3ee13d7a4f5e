#include "built.h"

namespace braid::parity {
namespace {

using Rows = std::vector<Row>;
using at::Tensor;

void add_pad(Rows& rows, Arg x, Ints widths, const std::string& mode,
             double value = 0) {
  add_built(
      rows, "pad", x, [=](Var v) { return pad(v, widths, mode, value); },
      [=](const Tensor& t) {
        return mode == "constant" ? at::constant_pad_nd(t, widths, value)
                                  : at::pad(t, widths, mode);
      },
      shape_text(widths) + " " + mode);
}

void add_constants(Rows& rows) {
  const std::pair<Shape, Ints> cases[] = {
      {{4}, {1, 2}},          {{3, 4}, {1, 0}},
      {{3, 4}, {-1, 2}},      {{3, 4}, {-1, -1, 2, -2}},
      {{3, 4}, {0, 0, 1, 1}}, {{2, 3, 4}, {1, 1, 1, 1, 1, 1}},
      {{2, 3, 4}, {0, -4}},   {{2, 3, 4}, {}},
      {{0, 3}, {1, 1, 1, 1}}, {{2, 1, 2, 3, 2}, {1, 2, -1, 1, 0, 1}},
      {{3, 4}, {-3, 2}},      {{1}, {0, 5}}};
  for (const auto& [shape, widths] : cases) {
    for (double value : {0.0, -1.5}) {
      add_pad(rows, {shape}, widths, "constant", value);
    }
  }
  add_pad(rows, index({3, 4}, 9), {1, 1}, "constant", 7);
  add_pad(rows, mask({3, 4}), {1, -1, 1, 0}, "constant", 1);
}

void add_modes(Rows& rows) {
  struct Case {
    Shape shape;
    Ints widths;
  };
  const Case cases[] = {{{2, 5}, {2, 1}},
                        {{2, 3, 5}, {0, 4}},
                        {{2, 3, 5}, {-1, 2}},
                        {{2, 3, 5}, {3, -2}},
                        {{2, 4, 5}, {1, 2, 3, 0}},
                        {{1, 2, 4, 5}, {2, 2, 1, 1}},
                        {{1, 2, 4, 5}, {1, -1, -1, 2}},
                        {{1, 2, 3, 4, 3}, {1, 1, 2, 0, 0, 1}},
                        {{2, 3, 4, 3}, {1, 2, 0, 3, 1, 1}}};
  for (const char* mode : {"reflect", "replicate", "circular"}) {
    for (const Case& c : cases) {
      add_pad(rows, {c.shape}, c.widths, mode);
    }
  }
  add_pad(rows, {{2, 3, 2}}, {7, 9}, "replicate");
  add_pad(rows, {{2, 3, 1}}, {1, 1}, "circular");
  add_pad(rows, {{2, 3, 1}}, {2, 3}, "replicate");
}

void add_unfolds(Rows& rows) {
  struct Case {
    Shape shape;
    int64_t dim, size, step;
  };
  const Case cases[] = {{{7}, 0, 3, 1},        {{7}, 0, 3, 2},
                        {{7}, -1, 2, 3},       {{4, 6}, 1, 4, 1},
                        {{4, 6}, 0, 2, 2},     {{4, 6}, 0, 1, 1},
                        {{2, 3, 8}, -1, 3, 5}, {{2, 8, 3}, 1, 5, 2},
                        {{5}, 0, 5, 1},        {{2, 5}, 1, 2, 4}};
  for (const Case& c : cases) {
    add_built(
        rows, "unfold", {c.shape},
        [=](Var v) { return unfold(v, c.dim, c.size, c.step); },
        [=](const Tensor& t) { return t.unfold(c.dim, c.size, c.step); },
        fmt::format(" {} {} {}", c.dim, c.size, c.step));
  }
}

void add_columns(Rows& rows) {
  struct Case {
    Shape shape;
    Windows w;
  };
  const Case cases[] = {{{2, 3, 5, 6}, {.kernel = {2, 3}}},
                        {{2, 1, 5, 6}, {.kernel = {3, 3}, .padding = {1, 1}}},
                        {{1, 2, 7, 6}, {.kernel = {2, 2}, .dilation = {2, 3}}},
                        {{2, 2, 6, 6}, {.kernel = {2, 2}, .stride = {2, 2}}},
                        {{2, 2, 7, 5},
                         {.kernel = {3, 2},
                          .dilation = {1, 2},
                          .padding = {2, 1},
                          .stride = {2, 1}}},
                        {{2, 2, 4, 4}, {.kernel = {1, 1}}},
                        {{2, 5, 6}, {.kernel = {2, 3}}},
                        {{2, 3, 4, 4}, {.kernel = {4, 4}}}};
  for (const Case& c : cases) {
    const Windows& w = c.w;
    auto columns = [w](const Tensor& t) {
      return at::im2col(t, w.kernel, w.dilation, w.padding, w.stride);
    };
    std::string note = shape_text(w.kernel) + shape_text(w.stride);
    add_built(
        rows, "im2col", {c.shape}, [w](Var v) { return im2col(v, w); }, columns,
        note);
    Ints size(c.shape.end() - 2, c.shape.end());
    Shape shape = columns(at::zeros(c.shape)).sizes().vec();
    add_built(
        rows, "col2im", {shape}, [=](Var v) { return col2im(v, size, w); },
        [=](const Tensor& t) {
          return at::col2im(t, size, w.kernel, w.dilation, w.padding, w.stride);
        },
        note);
  }
}

}  // namespace

std::vector<Row> pad_rows() {
  Rows rows;
  add_constants(rows);
  add_modes(rows);
  add_unfolds(rows);
  add_columns(rows);
  return rows;
}

}  // namespace braid::parity
