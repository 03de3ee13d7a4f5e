// Cross entropy in one pass over the logits each way.
// B members, R rows of a member, C classes.
#include <ATen/Parallel.h>

#include "braid/base/error.h"
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/vectorize.h"

namespace braid::runtime {
namespace {

template <class T>
BRAID_INLINE T log_sum_exp(const T* x, int64_t classes) {
  T largest = x[0];
  for (int64_t c = 1; c < classes; ++c)
    largest = x[c] > largest ? x[c] : largest;
  T sum = 0;
  for (int64_t c = 0; c < classes; ++c) {
    sum += vector_exp(x[c] - largest);
  }
  // An infinite logit makes NaN here and there, as it should; NaN too.
  return largest + std::log(sum);
}

// Sums are taken in lanes so that they become vector code.
BRAID_VECTORIZE float log_sum_exp_f32(const float* x, int64_t classes) {
  if (classes < 32) return log_sum_exp(x, classes);
  constexpr int64_t kLanes = 16;
  float top[kLanes], sums[kLanes] = {};
  for (int64_t l = 0; l < kLanes; ++l) top[l] = x[l];
  int64_t whole = classes / kLanes * kLanes;
  for (int64_t c = kLanes; c < whole; c += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      top[l] = x[c + l] > top[l] ? x[c + l] : top[l];
    }
  }
  float largest = top[0];
  for (float t : top) largest = t > largest ? t : largest;
  for (int64_t c = whole; c < classes; ++c) {
    largest = x[c] > largest ? x[c] : largest;
  }
  for (int64_t c = 0; c < whole; c += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      sums[l] += vector_exp(x[c + l] - largest);
    }
  }
  float sum = 0;
  for (float s : sums) sum += s;
  for (int64_t c = whole; c < classes; ++c) sum += vector_exp(x[c] - largest);
  return largest + std::log(sum);
}

float row_total(const float* x, int64_t classes) {
  return log_sum_exp_f32(x, classes);
}

double row_total(const double* x, int64_t classes) {
  return log_sum_exp(x, classes);
}

template <class T>
BRAID_INLINE void softmax_row(T* y, const T* x, T total, T factor, T shift,
                              int64_t classes) {
  BRAID_ELEMENTWISE
  for (int64_t c = 0; c < classes; ++c) {
    y[c] = (vector_exp(x[c] - total) - shift) * factor;
  }
}

BRAID_VECTORIZE void softmax_row_f32(float* y, const float* x, float total,
                                     float factor, float shift,
                                     int64_t classes) {
  softmax_row(y, x, total, factor, shift, classes);
}

void gradient_row(float* y, const float* x, float total, float factor,
                  float shift, int64_t classes) {
  softmax_row_f32(y, x, total, factor, shift, classes);
}

void gradient_row(double* y, const double* x, double total, double factor,
                  double shift, int64_t classes) {
  softmax_row(y, x, total, factor, shift, classes);
}

struct Sizes {
  int64_t sets, rows, classes;
  double smoothing;
  int64_t ignored;  // a target that leaves its row out
};

Sizes sizes_of(const Call& c, const Tensor& logits) {
  int64_t sets = std::max<int64_t>(c.members(), 1);
  int64_t classes = logits.shape.back();
  return {sets, logits.numel() / sets / std::max<int64_t>(classes, 1), classes,
          c.attrs().number_or("label_smoothing", 0),
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

// The loss of one row, and its logsumexp.
template <class T>
T row_loss(const T* x, int64_t target, const Sizes& s, T& total) {
  total = row_total(x, s.classes);
  if (target == s.ignored) return T(0);
  T loss = total - x[target];
  if (s.smoothing == 0) return loss;
  T sum = 0;
  for (int64_t c = 0; c < s.classes; ++c) sum += x[c];
  auto smoothing = static_cast<T>(s.smoothing);
  T even = total - sum / static_cast<T>(s.classes);
  return loss * (1 - smoothing) + even * smoothing;
}

// Rows are shared out in fixed chunks whose sums are added in order.
template <class T>
void forward(const Call& c, const Sizes& s) {
  constexpr int64_t kChunk = 64, kMaxChunks = 256;
  const auto* target = c.in(1).as<int64_t>();
  for (int64_t i = 0; i < s.sets * s.rows; ++i) check_target(target[i], s);
  const T* x = c.in(0).as<T>();
  T* totals = c.out(1).as<T>();
  int64_t chunk = std::max(kChunk, (s.rows + kMaxChunks - 1) / kMaxChunks);
  int64_t chunks = (s.rows + chunk - 1) / chunk;
  for (int64_t set = 0; set < s.sets; ++set) {
    double sums[kMaxChunks] = {};
    int64_t counts[kMaxChunks] = {};
    at::parallel_for(0, chunks, 1 + 16384 / (chunk * s.classes + 1),
                     [&](int64_t from, int64_t to) {
                       for (int64_t k = from; k < to; ++k) {
                         int64_t end = std::min(s.rows, (k + 1) * chunk);
                         for (int64_t r = k * chunk; r < end; ++r) {
                           int64_t i = set * s.rows + r;
                           sums[k] += static_cast<double>(row_loss(
                               x + i * s.classes, target[i], s, totals[i]));
                           counts[k] += target[i] != s.ignored;
                         }
                       }
                     });
    double sum = 0;
    int64_t count = 0;
    for (int64_t k = 0; k < chunks; ++k) {
      sum += sums[k];
      count += counts[k];
    }
    c.out(0).as<T>()[set] = static_cast<T>(sum / static_cast<double>(count));
    c.out(2).as<T>()[set] = static_cast<T>(count);
  }
}

template <class T>
void backward(const Call& c, const Sizes& s) {
  const T* dy = c.in(0).as<T>();
  const T* x = c.in(1).as<T>();
  const auto* target = c.in(2).as<int64_t>();
  const T* totals = c.in(3).as<T>();
  const T* counts = c.in(4).as<T>();
  T* dx = c.out(0).as<T>();
  auto smoothing = static_cast<T>(s.smoothing);
  T shift = smoothing / static_cast<T>(s.classes);
  at::parallel_for(0, s.sets * s.rows, 1 + 16384 / (s.classes + 1),
                   [&](int64_t from, int64_t to) {
                     for (int64_t i = from; i < to; ++i) {
                       int64_t set = i / s.rows;
                       T* row = dx + i * s.classes;
                       if (target[i] == s.ignored) {
                         std::fill_n(row, s.classes, T(0));
                         continue;
                       }
                       T factor = dy[set] / counts[set];
                       gradient_row(row, x + i * s.classes, totals[i], factor,
                                    shift, s.classes);
                       row[target[i]] -= (1 - smoothing) * factor;
                     }
                   });
}

using Body = void (*)(const Call&, const Sizes&);

// A mean over rows with a class each, all classes alike; the class weights
// would be input `weight`.
bool is_plain_mean(const Call& c, const Tensor& target, size_t weight) {
  return target.dtype == DType::kInt64 && !c.has(weight) &&
         (!c.attrs().has("reduction") || c.attrs().text("reduction") == "mean");
}

Run prepare(const Call& c, const Tensor& logits, Body f32, Body f64,
            const Kernel& general) {
  bool plain = c.out(0).contiguous() && (logits.dtype == DType::kFloat32 ||
                                         logits.dtype == DType::kFloat64);
  for (const Tensor& t : c.inputs) plain = plain && t.contiguous();
  if (!plain || logits.numel() == 0) return general(c);
  Body body = logits.dtype == DType::kFloat64 ? f64 : f32;
  return [c, body, sizes = sizes_of(c, logits)] { body(c, sizes); };
}

}  // namespace

void add_cpu_loss(KernelTable& table) {
  table.add("cross_entropy_loss", [general = table.at("cross_entropy_loss")](
                                      const Call& c) {
    if (!is_plain_mean(c, c.in(1), 2)) return general(c);
    return prepare(c, c.in(0), forward<float>, forward<double>, general);
  });
  table.add("cross_entropy_loss_backward",
            [general = table.at("cross_entropy_loss_backward")](const Call& c) {
              if (!is_plain_mean(c, c.in(2), 5)) return general(c);
              return prepare(c, c.in(1), backward<float>, backward<double>,
                             general);
            });
}

}  // namespace braid::runtime
