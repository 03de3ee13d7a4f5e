#include "../row.h"
#include "braid/ops/build/functions.h"

namespace braid::parity {
namespace {

enum class Cell { kLstm, kGru, kTanh, kRelu };
enum class Result { kY, kH, kC };

struct Case {
  Cell cell;
  int64_t steps = 4, batch = 3, inputs = 5, units = 2;
  int64_t layers = 1;
  bool bias = true, both_ways = false, batch_first = false;
  bool given_state = true;
  int64_t projection = 0;
  Result result = Result::kY;
};

int64_t gates(Cell cell) {
  if (cell == Cell::kLstm) return 4;
  return cell == Cell::kGru ? 3 : 1;
}

// Arguments: x, h, c, then the weights.
std::vector<Arg> arguments(const Case& c) {
  int64_t directions = c.both_ways ? 2 : 1, sets = c.layers * directions;
  int64_t out = c.projection > 0 ? c.projection : c.units;
  Shape x = c.batch_first ? Shape{c.batch, c.steps, c.inputs}
                          : Shape{c.steps, c.batch, c.inputs};
  std::vector<Arg> args{
      {x}, {{sets, c.batch, out}}, {{sets, c.batch, c.units}}};
  if (c.cell != Cell::kLstm) args[2] = missing();
  if (!c.given_state) args[1] = args[2] = missing();
  int64_t rows = gates(c.cell) * c.units;
  for (int64_t l = 0; l < sets; ++l) {
    int64_t columns = l < directions ? c.inputs : out * directions;
    args.push_back({{rows, columns}});
    args.push_back({{rows, out}});
    if (c.bias) args.insert(args.end(), 2, {{rows}});
    if (c.projection > 0) args.push_back({{out, c.units}});
  }
  return args;
}

template <class T>
std::vector<T> weights_of(const std::vector<T>& all) {
  return {all.begin() + 3, all.end()};
}

at::Tensor reference(const Case& c, const Tensors& t) {
  int64_t sets = c.layers * (c.both_ways ? 2 : 1);
  int64_t out = c.projection > 0 ? c.projection : c.units;
  at::Tensor h =
      t[1].defined() ? t[1] : at::zeros({sets, c.batch, out}, t[0].options());
  at::Tensor y, h_n, c_n;
  auto w = weights_of(t);
  if (c.cell == Cell::kLstm) {
    at::Tensor state =
        t[2].defined() ? t[2]
                       : at::zeros({sets, c.batch, c.units}, t[0].options());
    std::tie(y, h_n, c_n) = at::lstm(t[0], {h, state}, w, c.bias, c.layers, 0.0,
                                     true, c.both_ways, c.batch_first);
  } else if (c.cell == Cell::kGru) {
    std::tie(y, h_n) = at::gru(t[0], h, w, c.bias, c.layers, 0.0, true,
                               c.both_ways, c.batch_first);
  } else if (c.cell == Cell::kTanh) {
    std::tie(y, h_n) = at::rnn_tanh(t[0], h, w, c.bias, c.layers, 0.0, true,
                                    c.both_ways, c.batch_first);
  } else {
    std::tie(y, h_n) = at::rnn_relu(t[0], h, w, c.bias, c.layers, 0.0, true,
                                    c.both_ways, c.batch_first);
  }
  if (c.result == Result::kY) return y;
  return c.result == Result::kH ? h_n : c_n;
}

Var build(const Case& c, const std::vector<Var>& v) {
  Recurrent options{.layers = c.layers,
                    .bias = c.bias,
                    .bidirectional = c.both_ways,
                    .batch_first = c.batch_first};
  auto w = weights_of(v);
  RecurrentResult r;
  switch (c.cell) {
    case Cell::kLstm: r = lstm(v[0], v[1], v[2], w, options); break;
    case Cell::kGru: r = gru(v[0], v[1], w, options); break;
    case Cell::kTanh: r = rnn_tanh(v[0], v[1], w, options); break;
    case Cell::kRelu: r = rnn_relu(v[0], v[1], w, options); break;
  }
  if (c.result == Result::kY) return r.y;
  return c.result == Result::kH ? r.h : r.c;
}

Row rnn_row(const Case& c) {
  const char* ops[] = {"lstm_cell", "gru_cell", "slice", "slice"};
  return {.op = ops[static_cast<int>(c.cell)],
          .args = arguments(c),
          .attrs = {},
          .reference = [c](const Tensors& t) { return reference(c, t); },
          .build = [c](const std::vector<Var>& v) { return build(c, v); },
          .note = "rnn"};
}

void add_cell(std::vector<Row>& rows, Cell cell) {
  std::vector<Case> cases{
      {.cell = cell},
      {.cell = cell, .result = Result::kH},
      {.cell = cell, .steps = 1, .batch = 1, .inputs = 1, .units = 1},
      {.cell = cell, .bias = false},
      {.cell = cell, .given_state = false},
      {.cell = cell, .batch_first = true},
      {.cell = cell, .both_ways = true},
      {.cell = cell, .both_ways = true, .result = Result::kH},
      {.cell = cell, .layers = 3},
      {.cell = cell, .layers = 2, .result = Result::kH},
      {.cell = cell,
       .layers = 2,
       .bias = false,
       .both_ways = true,
       .batch_first = true,
       .given_state = false},
      {.cell = cell, .steps = 17, .batch = 2, .inputs = 3, .units = 8},
  };
  for (const Case& c : cases) rows.push_back(rnn_row(c));
}

}  // namespace

std::vector<Row> rnn_rows() {
  std::vector<Row> rows;
  for (Cell cell : {Cell::kLstm, Cell::kGru, Cell::kTanh, Cell::kRelu}) {
    add_cell(rows, cell);
  }
  rows.push_back(rnn_row({.cell = Cell::kLstm, .result = Result::kC}));
  rows.push_back(
      rnn_row({.cell = Cell::kLstm, .both_ways = true, .result = Result::kC}));
  for (Result result : {Result::kY, Result::kH, Result::kC}) {
    rows.push_back(rnn_row({.cell = Cell::kLstm,
                            .units = 4,
                            .layers = 2,
                            .both_ways = true,
                            .projection = 3,
                            .result = result}));
  }
  // One sequence without a batch dimension.
  rows.push_back(
      {.op = "gru_cell",
       .args = {{{6, 3}}, {{1, 2}}, {{6, 3}}, {{6, 2}}, {{6}}, {{6}}},
       .attrs = {},
       .reference =
           [](const Tensors& t) {
             return std::get<0>(at::gru(t[0].unsqueeze(1), t[1].unsqueeze(1),
                                        {t[2], t[3], t[4], t[5]}, true, 1, 0.0,
                                        true, false, false))
                 .squeeze(1);
           },
       .build =
           [](const std::vector<Var>& v) {
             return gru(v[0], v[1], {v[2], v[3], v[4], v[5]}, {}).y;
           },
       .note = "one sequence"});
  return rows;
}

}  // namespace braid::parity
