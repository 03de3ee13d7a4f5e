// A thread computes a pack of elements that are neighbours in the memory of the
// outputs. Operands that lie like those are read as packs; of others the
// address is found once per pack where that will do.
#include "braid/runtime/kernels/fusion_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "braid/base/error.h"

namespace braid::runtime {
namespace {

constexpr int64_t kPackBytes = 16;
// Packs become smaller where there are too few for all of a device.
constexpr int64_t kEnoughThreads = 1 << 17;

// Types as they lie in memory, how they are loaded and stored, and what their
// elements are computed in.
constexpr const char* kPrelude = R"(
typedef unsigned short bits16;
template <class T, int kWidth>
struct alignas(sizeof(T) * kWidth < 16 ? sizeof(T) * kWidth : 16) Pack {
  T at[kWidth];
};
struct bf16 { bits16 bits; };
struct f16 { bits16 bits; };
__device__ __forceinline__ float wide(bf16 x) {
  return __uint_as_float((unsigned int)x.bits << 16);
}
__device__ __forceinline__ float wide(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
__device__ __forceinline__ float wide(float x) { return x; }
__device__ __forceinline__ double wide(double x) { return x; }
template <class To> struct Narrow;
template <> struct Narrow<bf16> {
  template <class T> static __device__ __forceinline__ bf16 of(T x) {
    bf16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"((float)x));
    return y;
  }
};
template <> struct Narrow<f16> {
  template <class T> static __device__ __forceinline__ f16 of(T x) {
    f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"((float)x));
    return y;
  }
};
template <> struct Narrow<float> {
  template <class T> static __device__ __forceinline__ float of(T x) {
    return (float)x;
  }
};
template <> struct Narrow<double> {
  template <class T> static __device__ __forceinline__ double of(T x) {
    return (double)x;
  }
};
__device__ __forceinline__ float m_sqrt(float x) { return sqrtf(x); }
__device__ __forceinline__ double m_sqrt(double x) { return sqrt(x); }
__device__ __forceinline__ float m_exp(float x) { return expf(x); }
__device__ __forceinline__ double m_exp(double x) { return exp(x); }
__device__ __forceinline__ float m_tanh(float x) { return tanhf(x); }
__device__ __forceinline__ double m_tanh(double x) { return tanh(x); }
__device__ __forceinline__ float m_erf(float x) { return erff(x); }
__device__ __forceinline__ double m_erf(double x) { return erf(x); }
__device__ __forceinline__ float m_abs(float x) { return fabsf(x); }
__device__ __forceinline__ double m_abs(double x) { return fabs(x); }
template <class T> __device__ __forceinline__ T held(T x, T least, T most) {
  T lower = least > most ? most : least;
  T raised = x < lower ? lower : x;
  return x > most ? most : raised;
}
template <class T> __device__ __forceinline__ T sigmoid_of(T x) {
  return T(1) / (T(1) + m_exp(-x));
}
template <class T> __device__ __forceinline__ T bell(T x) {
  return T(0.7978845608028654) * (x + T(0.044715) * x * x * x);
}
template <class T> __device__ __forceinline__ T power(T x, T v) {
  if (v == T(2)) return x * x;
  if (v == T(3)) return x * x * x;
  if (v == T(0.5)) return m_sqrt(x);
  if (v == T(-0.5)) return T(1) / m_sqrt(x);
  return T(1) / x;
}
template <class T> __device__ __forceinline__ T between(T a, T b, T weight) {
  return m_abs(weight) < T(0.5) ? a + weight * (b - a)
                                : b - (b - a) * (T(1) - weight);
}
template <class T> __device__ __forceinline__ T hardswish_slope(T dy, T x) {
  if (x <= T(-3)) return T(0);
  return x < T(3) ? dy * (x / T(3) + T(0.5)) : dy;
}
template <class T> __device__ __forceinline__ T silu_slope(T dy, T x) {
  T s = sigmoid_of(x);
  return dy * s * (T(1) + x * (T(1) - s));
}
template <class T> __device__ __forceinline__ T gelu_slope(T dy, T x) {
  T t = m_tanh(bell(x));
  T slope = (T(1) - t * t) *
            (T(0.7978845608028654) * (T(1) + T(3 * 0.044715) * x * x));
  return dy * (T(0.5) * (T(1) + t) + T(0.5) * x * slope);
}
template <class T> __device__ __forceinline__ T gelu_erf_slope(T dy, T x) {
  T cdf = T(0.5) * (T(1) + m_erf(x * T(0.70710678118654752440)));
  T pdf = m_exp(T(-0.5) * x * x) * T(0.39894228040143267794);
  return dy * (cdf + x * pdf);
}
)";

// The formulas are those of the CPU's loops, over T: the type of the step, or
// f32 where that is narrow.
struct Formula {
  std::string_view op, text;
};
constexpr Formula kFormulas[] = {
    {"add", "a + b"},
    {"sub", "a - b"},
    {"mul", "a * b"},
    {"div", "a / b"},
    {"add_alpha", "a + v * b"},
    {"add_scalar", "a + v"},
    {"mul_scalar", "a * v"},
    {"div_scalar", "a / v"},
    {"rsub_scalar", "v - a"},
    {"neg", "-a"},
    {"abs", "m_abs(a)"},
    {"square", "a * a"},
    {"sqrt", "m_sqrt(a)"},
    {"rsqrt", "T(1) / m_sqrt(a)"},
    {"reciprocal", "T(1) / a"},
    {"pow_scalar", "power(a, v)"},
    {"exp", "m_exp(a)"},
    {"maximum", "a > b || a != a ? a : b"},
    {"minimum", "a < b || a != a ? a : b"},
    {"clamp", "held(a, v, w)"},
    {"addcmul", "a + v * b * c"},
    {"addcdiv", "a + v * b / c"},
    {"lerp", "between(a, b, c)"},
    {"lerp_scalar", "between(a, b, v)"},
    {"relu", "a < T(0) ? T(0) : a"},
    {"relu_backward", "b <= T(0) ? T(0) : a"},
    {"leaky_relu", "a > T(0) ? a : a * v"},
    {"leaky_relu_backward", "b > T(0) ? a : a * v"},
    {"hardtanh", "held(a, v, w)"},
    {"hardtanh_backward", "b <= v || b >= w ? T(0) : a"},
    {"hardsigmoid", "held(a + T(3), T(0), T(6)) / T(6)"},
    {"hardsigmoid_backward",
     "b > T(-3) && b < T(3) ? a * T(1.0f / 6.0f) : T(0)"},
    {"hardswish", "a * held(a + T(3), T(0), T(6)) / T(6)"},
    {"hardswish_backward", "hardswish_slope(a, b)"},
    {"tanh", "m_tanh(a)"},
    {"tanh_backward", "a * (T(1) - b * b)"},
    {"sigmoid", "sigmoid_of(a)"},
    {"sigmoid_backward", "a * (T(1) - b) * b"},
    {"silu", "a / (T(1) + m_exp(-a))"},
    {"silu_backward", "silu_slope(a, b)"},
    {"gelu", "T(0.5) * a * (T(1) + m_tanh(bell(a)))"},
    {"gelu_backward", "gelu_slope(a, b)"},
    {"gelu_erf", "a * T(0.5) * (T(1) + m_erf(a * T(0.70710678118654752440)))"},
    {"gelu_erf_backward", "gelu_erf_slope(a, b)"},
};

std::string_view formula_of(const FusionOp& op) {
  if (op.to) return "a";
  for (const Formula& formula : kFormulas) {
    if (formula.op == op.name) return formula.text;
  }
  fail_defect("[fusion] there is no CUDA formula for '{}'", op.name);
}

std::string_view type_text(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16: return "bf16";
    case DType::kFloat16: return "f16";
    case DType::kFloat64: return "double";
    default: return "float";
  }
}

std::string_view computed_in(DType dtype) {
  return dtype == DType::kFloat64 ? "double" : "float";
}

// A number as a literal that reads back the same; also infinities.
std::string number_text(double number) {
  if (number > 1.7976931348623157e308) return "(1.0 / 0.0)";
  if (number < -1.7976931348623157e308) return "(-1.0 / 0.0)";
  std::string text = fmt::format("{:.17g}", number);
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

// A dimension of the outputs with the steps of all inputs along it.
struct Dim {
  int64_t size, step;
  std::vector<int64_t> input_steps;
};

// Dimensions with several elements, the nearest in memory last.
std::vector<Dim> dims_of(const std::vector<Tensor>& inputs,
                         const Tensor& output) {
  std::vector<Dim> dims;
  for (size_t d = 0; d < output.shape.size(); ++d) {
    if (output.shape[d] == 1) continue;
    Dim dim{output.shape[d], output.strides[d], {}};
    for (const Tensor& x : inputs) {
      size_t lead = output.shape.size() - x.shape.size();
      bool varies = d >= lead && x.shape[d - lead] > 1;
      dim.input_steps.push_back(varies ? x.strides[d - lead] : 0);
    }
    dims.push_back(std::move(dim));
  }
  std::ranges::sort(dims, std::greater(), &Dim::step);
  return dims;
}

bool may_join(const Dim& outer, const Dim& inner) {
  for (size_t i = 0; i < outer.input_steps.size(); ++i) {
    if (outer.input_steps[i] != inner.input_steps[i] * inner.size) return false;
  }
  return true;
}

// Neighbours that every operand walks through as one.
std::vector<Dim> joined(const std::vector<Dim>& dims) {
  std::vector<Dim> all;
  for (const Dim& dim : dims) {
    if (!all.empty() && may_join(all.back(), dim)) {
      int64_t size = all.back().size * dim.size;
      all.back() = dim;
      all.back().size = size;
    } else {
      all.push_back(dim);
    }
  }
  if (all.empty()) all.push_back({1, 1, {}});
  return all;
}

class Writer {
 public:
  Writer(const Fusion& fusion, const std::vector<Tensor>& inputs,
         const std::vector<Tensor>& outputs)
      : fusion_(fusion),
        inputs_(inputs),
        outputs_(outputs),
        dims_(joined(dims_of(inputs, outputs[0]))),
        count_(outputs[0].numel()) {
    dims_.back().input_steps.resize(inputs.size());
    for (const Tensor& x : inputs) types_.push_back(x.dtype);
    made_ = fusion_dtypes(fusion, types_);
    width_ = best_width();
  }

  FusionSource run() {
    text_ = kPrelude;
    write_head();
    write_places();
    write_loads();
    write_elements();
    write_stores();
    text_ += "}\n";
    return {std::move(text_), width_};
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format,
                   std::forward<Args>(args)...);
    text_ += '\n';
  }

  // Lies like the outputs.
  bool is_plain(size_t input) const {
    return dims_.size() == 1 && dims_[0].input_steps[input] == 1;
  }
  int64_t near_step(size_t input) const {
    return dims_.back().input_steps[input];
  }
  // Whether all elements of a pack are read at once.
  bool is_pack(size_t input) const { return near_step(input) == 1; }

  static bool begins_even(const Tensor& t, int64_t width) {
    int64_t bytes = std::min(kPackBytes, width * item_bytes(t.dtype));
    return reinterpret_cast<uintptr_t>(t.data) %
               static_cast<uintptr_t>(bytes) ==
           0;
  }

  // A pack of the operand begins where one may, wherever it is.
  bool fits(size_t input, int64_t width) const {
    if (!is_pack(input)) return true;
    for (size_t d = 0; d + 1 < dims_.size(); ++d) {
      if (dims_[d].input_steps[input] % width != 0) return false;
    }
    return begins_even(inputs_[input], width);
  }

  bool fits(int64_t width) const {
    if (dims_.back().size % width != 0) return false;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!fits(i, width)) return false;
    }
    return std::ranges::all_of(
        outputs_, [&](const Tensor& t) { return begins_even(t, width); });
  }

  int64_t best_width() const {
    int64_t least = 8;
    for (const auto* list : {&inputs_, &outputs_}) {
      for (const Tensor& t : *list) {
        if (t.shape.size() == outputs_[0].shape.size()) {
          least = std::min(least, item_bytes(t.dtype));
        }
      }
    }
    int64_t width = kPackBytes / least;
    while (width > 1 && (!fits(width) || count_ / width < kEnoughThreads)) {
      width /= 2;
    }
    return width;
  }

  bool is_wide() const {
    int64_t most = count_;
    for (const Tensor& x : inputs_) {
      most = std::max(most, span_elements(x.shape, x.strides));
    }
    return most >= int64_t{1} << 31;
  }

  void write_head() {
    text_ += "extern \"C\" __global__ void __launch_bounds__(256) fused(\n";
    for (size_t i = 0; i < inputs_.size(); ++i) {
      line("    const {}* x{},", type_text(types_[i]), i);
    }
    for (size_t o = 0; o < outputs_.size(); ++o) {
      line("    {}* y{},", type_text(outputs_[o].dtype), o);
    }
    line("    long long count) {{");
    index_ = is_wide() ? "unsigned long long" : "unsigned int";
    line("  {0} first = (({0})blockIdx.x * {1} + threadIdx.x) * {2};", index_,
         kFusionThreads, width_);
    line("  if (first >= count) return;");
  }

  // Where the pack lies along each dimension, and so in each input.
  void write_places() {
    if (dims_.size() == 1) return;
    line("  {} rest = first;", index_);
    for (size_t d = dims_.size(); d-- > 1;) {
      line("  {0} c{1} = rest % {2}; rest /= {2};", index_, d, dims_[d].size);
    }
    line("  {} c0 = rest;", index_);
  }

  std::string place_of(size_t input) const {
    if (is_plain(input)) return "first";
    std::string sum;
    for (size_t d = 0; d < dims_.size(); ++d) {
      int64_t step = dims_[d].input_steps[input];
      if (step == 0) continue;
      std::string at = dims_.size() == 1 ? "first" : fmt::format("c{}", d);
      sum += fmt::format("{}{} * {}", sum.empty() ? "" : " + ", at, step);
    }
    return sum.empty() ? "0" : sum;
  }

  void write_loads() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      std::string_view type = type_text(types_[i]);
      std::string place = place_of(i);
      if (is_pack(i)) {
        line("  Pack<{0}, {1}> p{2} = *(const Pack<{0}, {1}>*)(x{2} + ({3}));",
             type, width_, i, place);
      } else if (near_step(i) == 0) {
        line("  {} p{} = x{}[{}];", type, i, i, place);
      } else {
        line("  const {}* p{} = x{} + ({});", type, i, i, place);
      }
    }
    for (size_t o = 0; o < outputs_.size(); ++o) {
      line("  Pack<{}, {}> q{};", type_text(outputs_[o].dtype), width_, o);
    }
  }

  std::string element_of(size_t input) const {
    if (is_pack(input)) return fmt::format("p{}.at[k]", input);
    if (near_step(input) == 0) return fmt::format("p{}", input);
    return fmt::format("p{}[k * {}]", input, near_step(input));
  }

  void write_elements() {
    line("#pragma unroll");
    line("  for (int k = 0; k < {}; ++k) {{", width_);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      line("    {} a{} = wide({});", computed_in(types_[i]), i, element_of(i));
    }
    for (size_t s = 0; s < fusion_.steps.size(); ++s) write_step(s);
    for (size_t o = 0; o < outputs_.size(); ++o) {
      line("    q{}.at[k] = Narrow<{}>::of(s{});", o,
           type_text(outputs_[o].dtype), fusion_.outputs[o]);
    }
    line("  }}");
  }

  void write_step(size_t number) {
    const FusionStep& step = fusion_.steps[number];
    auto dtype_of = [&](const FusionOperand& o) {
      return o.is_step ? made_[o.index] : types_[o.index];
    };
    std::string_view in = computed_in(dtype_of(step.operands[0]));
    line("    {} s{};", computed_in(made_[number]), number);
    line("    {{ typedef {} T;", in);
    for (size_t i = 0; i < step.operands.size(); ++i) {
      const FusionOperand& o = step.operands[i];
      line("      T {} = {}{};", "abc"[i], o.is_step ? 's' : 'a', o.index);
    }
    for (size_t i = 0; i < step.numbers.size() && step.op->numbers[i].name;
         ++i) {
      line("      T {} = T({});", "vw"[i], number_text(step.numbers[i]));
    }
    line("      s{} = wide(Narrow<{}>::of({})); }}", number,
         type_text(made_[number]), formula_of(*step.op));
  }

  void write_stores() {
    for (size_t o = 0; o < outputs_.size(); ++o) {
      line("  *(Pack<{}, {}>*)(y{} + first) = q{};",
           type_text(outputs_[o].dtype), width_, o, o);
    }
  }

  const Fusion& fusion_;
  const std::vector<Tensor>&inputs_, &outputs_;
  std::vector<Dim> dims_;
  int64_t count_, width_ = 1;
  std::vector<DType> types_, made_;  // of inputs, of steps
  std::string_view index_;
  std::string text_;
};

}  // namespace

FusionSource fusion_source(const Fusion& fusion,
                           const std::vector<Tensor>& inputs,
                           const std::vector<Tensor>& outputs) {
  return Writer(fusion, inputs, outputs).run();
}

}  // namespace braid::runtime
