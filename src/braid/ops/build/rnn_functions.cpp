// Recurrent layers unrolled over time: the products with x are one linear
// layer for all steps, then each step is a product with h and one cell.
// T steps, N samples, I inputs, H hidden units, P = H or the projection.
#include "braid/base/error.h"
#include "braid/ops/build/functions.h"

namespace braid {
namespace {

enum class Cell { kLstm, kGru, kTanh, kRelu };

// Weights of one layer and direction.
struct Weights {
  Var w_ih, w_hh, b_ih, b_hh, w_hr;
};

struct State {
  Var h, c;
};

struct Layer {
  Var y;  // [T, N, P]
  State last;
};

// One step from xg[N, gates * H], the product with x.
State step(Cell cell, Var xg, const State& now, const Weights& w) {
  Var hg = linear(now.h, w.w_hh, w.b_hh);
  switch (cell) {
    case Cell::kLstm: {
      int64_t units = now.c.dim(-1);
      Var next = apply("lstm_cell", {xg, hg, now.c});
      Var h = slice(next, -1, 0, units);
      return {w.w_hr ? linear(h, w.w_hr, {}) : h,
              slice(next, -1, units, 2 * units)};
    }
    case Cell::kGru: return {apply("gru_cell", {xg, hg, now.h}), {}};
    case Cell::kTanh: return {tanh(add(xg, hg)), {}};
    case Cell::kRelu: return {relu(add(xg, hg)), {}};
  }
  return now;
}

Layer run_layer(Cell cell, Var x, State state, const Weights& w, bool reverse) {
  std::vector<Var> steps = time_steps(linear(x, w.w_ih, w.b_ih));
  std::vector<Var> outputs(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    size_t t = reverse ? steps.size() - 1 - i : i;
    state = step(cell, steps[t], state, w);
    outputs[t] = state.h;
  }
  return {stack_steps(outputs, 0), state};
}

// The weights of layer l, in the order of PyTorch.
Weights weights_of(const std::vector<Var>& all, size_t l, bool bias,
                   bool projected) {
  size_t each = 2 + (bias ? 2 : 0) + (projected ? 1 : 0), at = l * each;
  if (at + each > all.size()) {
    fail_usage("[rnn] {} weights are too few for {} layers and directions",
               all.size(), l + 1);
  }
  Weights w{all[at], all[at + 1], {}, {}, {}};
  if (bias) {
    w.b_ih = all[at + 2];
    w.b_hh = all[at + 3];
  }
  if (projected) w.w_hr = all[at + each - 1];
  return w;
}

// State l of given [L, N, H], or zeros.
Var start_state(Var given, int64_t l, Var x, int64_t units) {
  if (given) return select(given, 0, l);
  return full_like(x, {x.dim(1), units}, 0);
}

// Two directions side by side.
Var joined(const std::vector<Var>& ys) {
  return ys.size() == 1 ? ys[0] : cat(ys, -1);
}

int64_t gates_of(Cell cell) {
  if (cell == Cell::kLstm) return 4;
  return cell == Cell::kGru ? 3 : 1;
}

Var stacked(const std::vector<Var>& states) {
  return states[0] ? stack_steps(states, 0) : Var{};
}

// All layers on x[T, N, I].
RecurrentResult run_layers(Cell cell, Var x, State start,
                           const std::vector<Var>& all, const Recurrent& o) {
  int64_t directions = o.bidirectional ? 2 : 1, count = o.layers * directions;
  auto sets = static_cast<size_t>(count);
  bool projected = all.size() == sets * (o.bias ? 5 : 3);
  std::vector<Var> last_h, last_c;
  for (int64_t layer = 0; layer < o.layers; ++layer) {
    if (layer > 0 && o.dropout.p) x = dropout(x, o.dropout);
    std::vector<Var> ys;
    for (int64_t d = 0; d < directions; ++d) {
      int64_t l = layer * directions + d;
      Weights w = weights_of(all, static_cast<size_t>(l), o.bias, projected);
      int64_t units = w.w_ih.dim(0) / gates_of(cell);
      State state{start_state(start.h, l, x, w.w_hh.dim(1)), {}};
      if (cell == Cell::kLstm) state.c = start_state(start.c, l, x, units);
      Layer done = run_layer(cell, x, state, w, d == 1);
      ys.push_back(done.y);
      last_h.push_back(done.last.h);
      last_c.push_back(done.last.c);
    }
    x = joined(ys);
  }
  return {x, stacked(last_h), stacked(last_c)};
}

Var without_dim(Var x, int64_t dim) { return x ? select(x, dim, 0) : x; }
Var with_dim(Var x, int64_t dim) { return x ? unsqueeze(x, dim) : x; }

RecurrentResult recurrent(Cell cell, Var x, State start,
                          const std::vector<Var>& weights,
                          const Recurrent& options) {
  if (x.rank() != 2 && x.rank() != 3) {
    fail_usage("[rnn] expected [T, N, I] or [T, I], got {}",
               shape_text(x.shape()));
  }
  if (options.layers < 1) fail_usage("[rnn] needs a layer");
  bool single = x.rank() == 2;
  if (single) {
    x = unsqueeze(x, 1);
    start = {with_dim(start.h, 1), with_dim(start.c, 1)};
  } else if (options.batch_first) {
    x = transpose(x, 0, 1);
  }
  if (x.dim(0) == 0) fail_usage("[rnn] a sequence needs a step");
  RecurrentResult r = run_layers(cell, x, start, weights, options);
  if (single) {
    return {without_dim(r.y, 1), without_dim(r.h, 1), without_dim(r.c, 1)};
  }
  if (options.batch_first) r.y = transpose(r.y, 0, 1);
  return r;
}

}  // namespace

RecurrentResult lstm(Var x, Var h, Var c, const std::vector<Var>& weights,
                     const Recurrent& options) {
  return recurrent(Cell::kLstm, x, {h, c}, weights, options);
}

RecurrentResult gru(Var x, Var h, const std::vector<Var>& weights,
                    const Recurrent& options) {
  return recurrent(Cell::kGru, x, {h, {}}, weights, options);
}

RecurrentResult rnn_tanh(Var x, Var h, const std::vector<Var>& weights,
                         const Recurrent& options) {
  return recurrent(Cell::kTanh, x, {h, {}}, weights, options);
}

RecurrentResult rnn_relu(Var x, Var h, const std::vector<Var>& weights,
                         const Recurrent& options) {
  return recurrent(Cell::kRelu, x, {h, {}}, weights, options);
}

}  // namespace braid
