#include "../row.h"
#include "braid/ops/build/functions.h"

namespace braid::parity {
namespace {

// One call: shapes of q, k, v and the options that both sides get.
struct Case {
  Shape q, k, v;
  Arg mask = missing();
  bool causal = false;
  std::optional<double> scale = {};
  bool grouped = false;
  std::string note = {};
};

Row attention_row(const Case& c) {
  return {.op = "scaled_dot_product_attention",
          .args = {{c.q}, {c.k}, {c.v}, c.mask},
          .attrs = {},
          .reference =
              [c](const Tensors& t) {
                std::optional<at::Tensor> mask;
                if (t[3].defined()) mask = t[3];
                return at::scaled_dot_product_attention(
                    t[0], t[1], t[2], mask, 0.0, c.causal, c.scale, c.grouped);
              },
          .build =
              [c](const std::vector<Var>& v) {
                return attention(v[0], v[1], v[2],
                                 Attention{.mask = v[3],
                                           .causal = c.causal,
                                           .scale = c.scale,
                                           .grouped_heads = c.grouped});
              },
          .note = c.note + shape_text(c.q) + shape_text(c.mask.shape)};
}

void add_plain(std::vector<Row>& rows) {
  for (bool causal : {false, true}) {
    auto add = [&](Shape q, Shape k, Shape v, std::optional<double> scale) {
      rows.push_back(attention_row({.q = q,
                                    .k = k,
                                    .v = v,
                                    .causal = causal,
                                    .scale = scale,
                                    .note = causal ? "causal" : "plain"}));
    };
    add({2, 3, 5, 8}, {2, 3, 5, 8}, {2, 3, 5, 8}, {});
    add({2, 2, 4, 8}, {2, 2, 7, 8}, {2, 2, 7, 8}, {});
    add({2, 2, 7, 8}, {2, 2, 4, 8}, {2, 2, 4, 8}, {});
    add({1, 1, 1, 4}, {1, 1, 1, 4}, {1, 1, 1, 4}, {});
    add({2, 4, 64, 16}, {2, 4, 64, 16}, {2, 4, 64, 16}, {});
    add({1, 2, 6, 5}, {1, 2, 6, 5}, {1, 2, 6, 5}, 0.3);
    add({2, 2, 4, 8}, {2, 2, 5, 8}, {2, 2, 5, 3}, {});
    add({3, 4, 8}, {3, 5, 8}, {3, 5, 8}, {});
    add({4, 8}, {5, 8}, {5, 6}, 2.0);
    add({4, 8}, {5, 8}, {5, 8}, {});
    add({2, 2, 3, 4, 6}, {2, 2, 3, 5, 6}, {2, 2, 3, 5, 6}, {});
  }
  rows.push_back(attention_row({{0, 2, 3, 4}, {0, 2, 3, 4}, {0, 2, 3, 4}}));
}

void add_masked(std::vector<Row>& rows) {
  const Shape masks[] = {{2, 3, 4, 5}, {2, 1, 4, 5}, {1, 1, 4, 5}, {4, 5},
                         {2, 1, 1, 5}, {3, 1, 5},    {1, 5}};
  for (const Shape& shape : masks) {
    for (bool narrow : {false, true}) {
      Shape value{2, 3, 5, narrow ? 3 : 8};
      rows.push_back(attention_row({{2, 3, 4, 8},
                                    {2, 3, 5, 8},
                                    value,
                                    mask(shape),
                                    false,
                                    {},
                                    false,
                                    "bool mask"}));
    }
    rows.push_back(attention_row({{2, 3, 4, 8},
                                  {2, 3, 5, 8},
                                  {2, 3, 5, 8},
                                  {shape},
                                  false,
                                  {},
                                  false,
                                  "float mask"}));
  }
  rows.push_back(attention_row({{2, 3, 40, 8},
                                {2, 3, 33, 8},
                                {2, 3, 33, 8},
                                mask({2, 1, 40, 33}),
                                false,
                                0.5,
                                false,
                                "longer bool mask"}));
  rows.push_back(attention_row({{3, 4, 8},
                                {3, 5, 8},
                                {3, 5, 8},
                                mask({3, 4, 5}),
                                false,
                                {},
                                false,
                                "rank 3 mask"}));
}

// A quarter of all rows of such masks sees nothing.
void add_hidden(std::vector<Row>& rows) {
  for (bool narrow : {false, true}) {
    rows.push_back(attention_row({{2, 2, 6, 4},
                                  {2, 2, 1, 4},
                                  {2, 2, 1, narrow ? 3 : 4},
                                  mask({2, 1, 6, 1}),
                                  false,
                                  {},
                                  false,
                                  "hidden rows"}));
    Row row = attention_row({{2, 2, 6, 4},
                             {2, 2, 2, 4},
                             {2, 2, 2, narrow ? 3 : 4},
                             mask({2, 2, 6, 2}),
                             false,
                             {},
                             false,
                             "hidden rows"});
    rows.push_back(row);
  }
}

void add_grouped(std::vector<Row>& rows) {
  for (int64_t groups : {1, 2, 4}) {
    for (bool causal : {false, true}) {
      rows.push_back(attention_row({.q = {2, 4, 5, 6},
                                    .k = {2, groups, 5, 6},
                                    .v = {2, groups, 5, 6},
                                    .causal = causal,
                                    .grouped = true,
                                    .note = "grouped"}));
    }
  }
  rows.push_back(attention_row({.q = {2, 4, 5, 6},
                                .k = {2, 2, 3, 6},
                                .v = {2, 2, 3, 6},
                                .mask = mask({2, 1, 5, 3}),
                                .grouped = true,
                                .note = "grouped mask"}));
}

// Heads split from one projection: q, k, v as strided views.
Row split_heads(bool causal) {
  return {
      .op = "scaled_dot_product_attention",
      .args = {{{2, 5, 24}}},
      .attrs = {},
      .reference =
          [causal](const Tensors& t) {
            auto parts = t[0].view({2, 5, 3, 2, 4}).permute({2, 0, 3, 1, 4});
            return at::scaled_dot_product_attention(
                       parts[0], parts[1], parts[2], std::nullopt, 0.0, causal)
                .transpose(1, 2)
                .reshape({2, 5, 8});
          },
      .build =
          [causal](const std::vector<Var>& v) {
            Var parts =
                permute(reshape(v[0], {2, 5, 3, 2, 4}), {2, 0, 3, 1, 4});
            Var y = attention(select(parts, 0, 0), select(parts, 0, 1),
                              select(parts, 0, 2), causal);
            return reshape(transpose(y, 1, 2), {2, 5, 8});
          },
      .note = "split heads"};
}

// The weights alone, which attention with dropout is built from.
Row weights_row(Shape scores, Arg mask, bool causal, double scale) {
  return {.op = "attention_softmax",
          .args = {{scores}, mask},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                at::Tensor s = t[0] * scale;
                if (t[1].defined() && t[1].scalar_type() == at::kBool) {
                  s = s.masked_fill(~t[1], -INFINITY);
                } else if (t[1].defined()) {
                  s = s + t[1];
                }
                if (causal) {
                  at::Tensor seen = at::ones({s.size(-2), s.size(-1)},
                                             at::TensorOptions(at::kBool));
                  s = s.masked_fill(~seen.tril(), -INFINITY);
                }
                return at::_safe_softmax(s, -1);
              },
          .build =
              [=](const std::vector<Var>& v) {
                std::vector<Var> inputs{v[0]};
                if (v[1]) inputs.push_back(v[1]);
                return apply("attention_softmax", inputs,
                             {{"scale", scale}, {"is_causal", causal}});
              },
          .note = "weights" + shape_text(mask.shape)};
}

// Heads whose rows are not dense in memory, or are all the same row.
Row of_turned(Shape shape, bool expanded) {
  Shape all = shape;
  all[2] = 5;
  if (!expanded) std::swap(shape[2], shape[3]);
  return {.op = "scaled_dot_product_attention",
          .args = {{shape}},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                at::Tensor x = expanded ? t[0].expand(all).contiguous()
                                        : t[0].transpose(2, 3).contiguous();
                return at::scaled_dot_product_attention(x, x, x);
              },
          .build =
              [=](const std::vector<Var>& v) {
                Var x = expanded ? expand(v[0], all) : transpose(v[0], 2, 3);
                return attention(x, x, x, false);
              },
          .note = expanded ? "of one row" : "of columns"};
}

}  // namespace

std::vector<Row> attention_rows() {
  std::vector<Row> rows{
      split_heads(false),
      split_heads(true),
      weights_row({2, 3, 4, 5}, missing(), false, 0.5),
      weights_row({2, 3, 4, 5}, missing(), true, 1.5),
      weights_row({2, 3, 4, 5}, mask({2, 1, 4, 5}), false, 0.5),
      weights_row({2, 3, 6, 1}, mask({1, 3, 6, 1}), false, 0.5),
      weights_row({2, 3, 4, 5}, {{1, 1, 4, 5}}, false, 0.5),
      weights_row({2, 3, 4, 5}, {{2, 3, 1, 5}}, false, -1),
  };
  rows.push_back(of_turned({2, 3, 4, 8}, false));
  rows.push_back(of_turned({2, 3, 1, 8}, true));
  add_plain(rows);
  add_masked(rows);
  add_hidden(rows);
  add_grouped(rows);
  return rows;
}

}  // namespace braid::parity
