// Attention by libtorch's blocked CPU kernel, which never holds all scores, and
// the weights of attention with dropout by loops of our own.
#include <cmath>

#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"

namespace braid::runtime {
namespace {

std::optional<double> scale_of(const Bound& b) {
  if (!b.attrs().has("scale")) return std::nullopt;
  return b.attrs().number("scale");
}

// Heads as the kernel walks through them: dense rows that do not overlap.
at::Tensor dense_rows(const Bound& b, size_t i) {
  const at::Tensor& x = b.in[i];
  bool dense = x.stride(-1) == 1 && x.stride(-2) >= x.size(-1);
  return dense ? x : x.contiguous();
}

// The mask as the kernel wants it: added to the scores, of q's type.
std::optional<at::Tensor> mask_of(const Bound& b, size_t i) {
  if (!b.has(i) || b.in[i].scalar_type() != at::kBool) return b.optional(i);
  return at::zeros(b.in[i].sizes(), b.in[0].options())
      .masked_fill_(b.in[i].logical_not(), -INFINITY);
}

void forward(Bound& b) {
  auto [y, total] = at::_scaled_dot_product_flash_attention_for_cpu(
      dense_rows(b, 0), dense_rows(b, 1), dense_rows(b, 2), 0.0,
      b.attrs().flag_or("is_causal", false), mask_of(b, 3), scale_of(b));
  write_outputs({b.out[0], b.out[1]}, {y, total});
}

void backward(Bound& b) {
  auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      dense_rows(b, 0), dense_rows(b, 1), dense_rows(b, 2), dense_rows(b, 3),
      dense_rows(b, 4), b.in[5].contiguous(), 0.0,
      b.attrs().flag_or("is_causal", false), mask_of(b, 6), scale_of(b));
  write_outputs({b.out[0], b.out[1], b.out[2]}, {dq, dk, dv});
}

// The blocked kernel wants all head sizes equal and some work to do, and
// gives no gradient of a mask.
bool fits(const Call& c, const Tensor& q, const Tensor& v) {
  return q.numel() > 0 && v.numel() > 0 && q.shape.back() == v.shape.back() &&
         !c.attrs().flag_or("mask_grad", false);
}

// Rows of scores [N, H, T, S] are shared out among threads.
template <class F>
void spread_rows(const Shape& scores, const F& run) {
  int64_t columns = scores[3], rows = num_elements(scores) / columns;
  parallel_for(rows, 1 + 16384 / columns, [&](int64_t from, int64_t to) {
    for (int64_t r = from; r < to; ++r) run(r, r * columns);
  });
}

template <class T>
Thunk prepare_weights(const Call& c, const LoopsOf<T>& loops) {
  return [shape = c.in(0).shape, x = c.in(0).as<T>(), y = c.out(0).as<T>(),
          scale = static_cast<T>(c.attrs().number("scale")),
          causal = c.attrs().flag_or("is_causal", false),
          softmax_row = loops.softmax_row] {
    int64_t queries = shape[2], keys = shape[3];
    spread_rows(shape, [&](int64_t r, int64_t at) {
      int64_t seen = causal ? std::min(r % queries + 1, keys) : keys;
      softmax_row(y + at, x + at, scale, keys, seen);
    });
  };
}

template <class T>
Thunk prepare_weights_backward(const Call& c, const LoopsOf<T>& loops) {
  return [shape = c.in(0).shape, dy = c.in(0).as<T>(), y = c.in(1).as<T>(),
          dx = c.out(0).as<T>(), backward = loops.softmax_row_backward] {
    spread_rows(shape, [&](int64_t, int64_t at) {
      backward(dx + at, dy + at, y + at, shape[3]);
    });
  };
}

// Dense floats.
bool is_plain(const Call& c) {
  bool plain =
      has_loops(c.in(0).dtype) && c.in(0).numel() > 0 && c.out(0).contiguous();
  for (const Tensor& x : c.inputs) plain = plain && x.contiguous();
  return plain;
}

void add_weights(KernelTable& table, const Loops& loops) {
  add_own(
      table, loops, "attention_softmax",
      [](const Call& c) { return !c.has(1) && is_plain(c); },
      [](const Call& c, const auto& l) { return prepare_weights(c, l); });
  add_own(table, loops, "attention_softmax_backward", is_plain,
          [](const Call& c, const auto& l) {
            return prepare_weights_backward(c, l);
          });
}

}  // namespace

void add_cpu_attention(KernelTable& table, const Loops& loops) {
  add_weights(table, loops);
  const char* op = "scaled_dot_product_attention";
  table.add(op, [general = table.at(op),
                 own = donating_kernel(at::kCPU, {0}, forward)](const Call& c) {
    return fits(c, c.in(0), c.in(2)) ? own(c) : general(c);
  });
  const char* back = "scaled_dot_product_attention_backward";
  table.add(back, [general = table.at(back),
                   own = donating_kernel(at::kCPU, {0, 1, 2}, backward)](
                      const Call& c) {
    return fits(c, c.in(1), c.in(3)) ? own(c) : general(c);
  });
}

}  // namespace braid::runtime
