// Cross entropy in one pass over the logits each way.
// B members, R rows of a member, C classes.
#include "braid/base/error.h"
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"

namespace braid::runtime {
namespace {

struct Sizes {
  int64_t sets, rows, classes;
  double constant_smoothing;
  const double* smoothings;  // [B], or null
  int64_t ignored;           // a target that leaves its row out

  template <class T>
  T smoothing(int64_t set) const {
    return static_cast<T>(smoothings ? smoothings[set] : constant_smoothing);
  }
};

// Label smoothing may be input `operand`.
Sizes sizes_of(const Call& c, const Tensor& logits, size_t operand) {
  int64_t sets = std::max<int64_t>(c.members(), 1);
  int64_t classes = logits.shape.back();
  return {sets,
          logits.numel() / sets / std::max<int64_t>(classes, 1),
          classes,
          c.attrs().number_or("label_smoothing", 0),
          c.has(operand) ? c.in(operand).as<double>() : nullptr,
          c.attrs().integer_or("ignore_index", -100)};
}

void check_target(int64_t target, const Sizes& s) {
  if (target != s.ignored && (target < 0 || target >= s.classes)) {
    fail_usage(
        "[cross_entropy_loss] target {} is outside the {} classes\n"
        "HINT: targets count from 0; {} marks rows to leave out",
        target, s.classes, s.ignored);
  }
}

template <class T>
T row_loss(const T* x, int64_t target, const Sizes& s, T total, T smoothing) {
  if (target == s.ignored) return T(0);
  T loss = total - x[target];
  if (smoothing == 0) return loss;
  T sum = 0;
  for (int64_t c = 0; c < s.classes; ++c) sum += x[c];
  T even = total - sum / static_cast<T>(s.classes);
  return loss * (1 - smoothing) + even * smoothing;
}

// What a chunk of rows adds to the mean.
struct Share {
  double sum;
  int64_t count;
};

// Operands of the forward pass.
template <class T>
struct Forward {
  const T* x;  // [B, R, C]
  const int64_t* target;
  T *loss, *totals, *counts;
};

// Rows [begin, end) of all members' rows, all of one member.
template <class T>
Share chunk_share(const Forward<T>& f, const Sizes& s, const LoopsOf<T>& loops,
                  int64_t begin, int64_t end) {
  loops.log_sum_exp(f.totals + begin, f.x + begin * s.classes, end - begin,
                    s.classes);
  T smoothing = s.smoothing<T>(begin / s.rows);
  Share share{0, 0};
  for (int64_t i = begin; i < end; ++i) {
    share.sum += static_cast<double>(
        row_loss(f.x + i * s.classes, f.target[i], s, f.totals[i], smoothing));
    share.count += f.target[i] != s.ignored;
  }
  return share;
}

// Rows are shared out in fixed chunks whose sums are added in order.
template <class T>
void forward_set(const Forward<T>& f, const Sizes& s, const LoopsOf<T>& loops,
                 int64_t set) {
  constexpr int64_t kChunk = 64, kMaxChunks = 256;
  int64_t chunk = std::max(kChunk, (s.rows + kMaxChunks - 1) / kMaxChunks);
  int64_t chunks = (s.rows + chunk - 1) / chunk;
  Share shares[kMaxChunks], all{0, 0};
  parallel_for(chunks, 1 + 16384 / (chunk * s.classes + 1),
               [&](int64_t from, int64_t to) {
                 for (int64_t k = from; k < to; ++k) {
                   int64_t first = set * s.rows;
                   int64_t end = first + std::min(s.rows, (k + 1) * chunk);
                   shares[k] = chunk_share(f, s, loops, first + k * chunk, end);
                 }
               });
  for (int64_t k = 0; k < chunks; ++k) {
    all.sum += shares[k].sum;
    all.count += shares[k].count;
  }
  f.loss[set] = static_cast<T>(all.sum / static_cast<double>(all.count));
  f.counts[set] = static_cast<T>(all.count);
}

template <class T>
void forward(const Call& c, const Sizes& s, const LoopsOf<T>& loops) {
  Forward<T> f{c.in(0).as<T>(), c.in(1).as<int64_t>(), c.out(0).as<T>(),
               c.out(1).as<T>(), c.out(2).as<T>()};
  for (int64_t i = 0; i < s.sets * s.rows; ++i) check_target(f.target[i], s);
  parallel_for(s.sets, 1 + 16384 / (s.rows * s.classes + 1),
               [&](int64_t from, int64_t to) {
                 for (int64_t i = from; i < to; ++i)
                   forward_set(f, s, loops, i);
               });
}

// Operands of the backward pass.
template <class T>
struct Backward {
  const T *dy, *x;
  const int64_t* target;
  const T *totals, *counts;
  T* dx;
};

// Rows [begin, end) of all members' rows, all of one member.
template <class T>
void backward_rows(const Backward<T>& b, const Sizes& s,
                   const LoopsOf<T>& loops, int64_t begin, int64_t end) {
  int64_t set = begin / s.rows, first = begin * s.classes;
  T factor = b.dy[set] / b.counts[set];
  T smoothing = s.smoothing<T>(set);
  loops.scaled_softmax(b.dx + first, b.x + first, b.totals + begin,
                       smoothing / static_cast<T>(s.classes), factor,
                       end - begin, s.classes);
  for (int64_t i = begin; i < end; ++i) {
    T* row = b.dx + i * s.classes;
    if (b.target[i] == s.ignored) {
      std::fill_n(row, s.classes, T(0));
    } else {
      row[b.target[i]] -= (1 - smoothing) * factor;
    }
  }
}

template <class T>
void backward(const Call& c, const Sizes& s, const LoopsOf<T>& loops) {
  Backward<T> b{c.in(0).as<T>(), c.in(1).as<T>(), c.in(2).as<int64_t>(),
                c.in(3).as<T>(), c.in(4).as<T>(), c.out(0).as<T>()};
  parallel_for(s.sets * s.rows, 1 + 16384 / (s.classes + 1),
               [&](int64_t from, int64_t to) {
                 while (from < to) {
                   int64_t end = std::min(to, (from / s.rows + 1) * s.rows);
                   backward_rows(b, s, loops, from, end);
                   from = end;
                 }
               });
}

// A mean over rows with a class each, all classes alike; the class weights
// would be input `weight`.
bool is_plain_mean(const Call& c, const Tensor& target, size_t weight) {
  return target.dtype == DType::kInt64 && !c.has(weight) &&
         (!c.attrs().has("reduction") || c.attrs().text("reduction") == "mean");
}

bool is_plain(const Call& c, const Tensor& logits) {
  bool plain =
      c.out(0).contiguous() && logits.numel() > 0 && has_loops(logits.dtype);
  for (const Tensor& t : c.inputs) plain = plain && (!t || t.contiguous());
  return plain;
}

}  // namespace

void add_cpu_loss(KernelTable& table, const Loops& loops) {
  add_own(
      table, loops, "cross_entropy_loss",
      [](const Call& c) {
        return is_plain(c, c.in(0)) && is_plain_mean(c, c.in(1), 2);
      },
      [](const Call& c, const auto& l) -> Thunk {
        return
            [c, l, sizes = sizes_of(c, c.in(0), 3)] { forward(c, sizes, l); };
      });
  add_own(
      table, loops, "cross_entropy_loss_backward",
      [](const Call& c) {
        return is_plain(c, c.in(1)) && is_plain_mean(c, c.in(2), 5);
      },
      [](const Call& c, const auto& l) -> Thunk {
        return
            [c, l, sizes = sizes_of(c, c.in(1), 6)] { backward(c, sizes, l); };
      });
}

}  // namespace braid::runtime
