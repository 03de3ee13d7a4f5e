#include "braid/runtime/kernels/aten/bind.h"
#include "random_moves.h"

namespace braid::parity {
namespace {

// Where a function may be asked; values are brought there first.
enum class Domain { kAny, kPositive, kAboveOne, kUnit };

struct Unary {
  const char* name;
  std::function<Var(Var)> ours;
  std::function<at::Tensor(const at::Tensor&)> theirs;
  Domain domain = Domain::kAny;
  std::vector<double> kinks = {};  // points where the function breaks
};

Var bring(Var x, Domain domain) {
  switch (domain) {
    case Domain::kPositive: return add_scalar(softplus(x), 0.25);
    case Domain::kAboveOne: return add_scalar(softplus(x), 1.25);
    case Domain::kUnit: return mul_scalar(tanh(x), 0.875);
    case Domain::kAny: break;
  }
  return x;
}

at::Tensor bring(const at::Tensor& x, Domain domain) {
  switch (domain) {
    case Domain::kPositive: return at::softplus(x) + 0.25;
    case Domain::kAboveOne: return at::softplus(x) + 1.25;
    case Domain::kUnit: return at::tanh(x) * 0.875;
    case Domain::kAny: break;
  }
  return x;
}

// A function of both tongues with the same name and one argument.
template <Var (*kOurs)(Var), at::Tensor (*kTheirs)(const at::Tensor&)>
Unary plain(const char* name, Domain domain = Domain::kAny,
            std::vector<double> kinks = {}) {
  return {name, kOurs, kTheirs, domain, std::move(kinks)};
}

std::vector<double> whole_numbers(double shift = 0) {
  std::vector<double> points;
  for (int i = -8; i <= 8; ++i) points.push_back(i + shift);
  return points;
}

std::vector<Unary> smooth() {
  using T = const at::Tensor&;
  constexpr auto kPositive = Domain::kPositive, kUnit = Domain::kUnit;
  return {
      plain<tanh, at::tanh>("tanh"),
      plain<sigmoid, at::sigmoid>("sigmoid"),
      plain<exp, at::exp>("exp"),
      plain<log, at::log>("log", kPositive),
      plain<sqrt, at::sqrt>("sqrt", kPositive),
      plain<rsqrt, at::rsqrt>("rsqrt", kPositive),
      plain<reciprocal, at::reciprocal>("reciprocal", kPositive),
      plain<square, at::square>("square"),
      plain<sin, at::sin>("sin"),
      plain<cos, at::cos>("cos"),
      plain<tan, at::tan>("tan", kUnit),
      plain<asin, at::asin>("asin", kUnit),
      plain<acos, at::acos>("acos", kUnit),
      plain<atan, at::atan>("atan"),
      plain<sinh, at::sinh>("sinh", kUnit),
      plain<cosh, at::cosh>("cosh", kUnit),
      plain<asinh, at::asinh>("asinh"),
      plain<acosh, at::acosh>("acosh", Domain::kAboveOne),
      plain<atanh, at::atanh>("atanh", kUnit),
      plain<log1p, at::log1p>("log1p", kPositive),
      plain<log2, at::log2>("log2", kPositive),
      plain<log10, at::log10>("log10", kPositive),
      plain<expm1, at::expm1>("expm1"),
      plain<exp2, at::exp2>("exp2"),
      plain<erf, at::erf>("erf"),
      plain<erfc, at::erfc>("erfc"),
      plain<lgamma, at::lgamma>("lgamma", kPositive),
      plain<digamma, at::digamma>("digamma", kPositive),
      plain<neg, at::neg>("neg"),
      plain<silu, at::silu>("silu"),
      plain<mish, at::mish>("mish"),
      plain<log_sigmoid, at::log_sigmoid>("log_sigmoid"),
      {"gelu", [](Var x) { return gelu(x); }, [](T x) { return at::gelu(x); }},
      {"gelu tanh", [](Var x) { return gelu(x, true); },
       [](T x) { return at::gelu(x, "tanh"); }},
      {"softplus", [](Var x) { return softplus(x, 2); },
       [](T x) { return at::softplus(x, 2); }},
      {"softsign", softsign, [](T x) { return x / (x.abs() + 1); }},
      {"tanhshrink", tanhshrink, [](T x) { return x - x.tanh(); }},
      {"elu", [](Var x) { return elu(x); }, [](T x) { return at::elu(x); }},
      {"celu", [](Var x) { return celu(x, 0.5); },
       [](T x) { return at::celu(x, 0.5); }},
      {"nan_to_num", [](Var x) { return nan_to_num(x); },
       [](T x) { return at::nan_to_num(x); }},
      {"add_scalar", [](Var x) { return add_scalar(x, 0.3); },
       [](T x) { return x + 0.3; }},
      {"rsub_scalar", [](Var x) { return rsub_scalar(x, int64_t{1}); },
       [](T x) { return 1 - x; }},
      {"mul_scalar", [](Var x) { return mul_scalar(x, -0.7); },
       [](T x) { return x * -0.7; }},
      {"div_scalar", [](Var x) { return div_scalar(x, int64_t{2}); },
       [](T x) { return x / 2; }},
      {"pow 2", [](Var x) { return pow_scalar(x, int64_t{2}); },
       [](T x) { return x.pow(2); }},
      {"pow 3", [](Var x) { return pow_scalar(x, 3.0); },
       [](T x) { return x.pow(3.0); }},
      {"pow -1.5", [](Var x) { return pow_scalar(x, -1.5); },
       [](T x) { return x.pow(-1.5); }, kPositive},
      {"scalar_pow", [](Var x) { return scalar_pow(2.0, x); },
       [](T x) { return at::pow(2.0, x); }},
      {"scalar_xlogy", [](Var x) { return scalar_xlogy(1.5, x); },
       [](T x) { return at::xlogy(1.5, x); }, kPositive},
      {"copy of itself", [](Var x) { return mul(x, x); },
       [](T x) { return x * x; }},
      {"through another type",
       [](Var x) {
         DType other =
             x.dtype() == DType::kFloat64 ? DType::kFloat32 : DType::kFloat64;
         return cast(cast(x, other), x.dtype());
       },
       [](T x) {
         auto other = x.scalar_type() == at::kDouble ? at::kFloat : at::kDouble;
         return x.to(other).to(x.scalar_type());
       }},
  };
}

std::vector<Unary> kinked() {
  using T = const at::Tensor&;
  constexpr auto kAny = Domain::kAny;
  return {
      plain<relu, at::relu>("relu", kAny, {0}),
      plain<abs, at::abs>("abs", kAny, {0}),
      plain<sign, at::sign>("sign", kAny, {0}),
      plain<selu, at::selu>("selu", kAny, {0}),
      plain<relu6, at::relu6>("relu6", kAny, {0, 6}),
      plain<hardswish, at::hardswish>("hardswish", kAny, {-3, 3}),
      plain<hardsigmoid, at::hardsigmoid>("hardsigmoid", kAny, {-3, 3}),
      plain<floor, at::floor>("floor", kAny, whole_numbers()),
      plain<ceil, at::ceil>("ceil", kAny, whole_numbers()),
      plain<trunc, at::trunc>("trunc", kAny, whole_numbers()),
      plain<frac, at::frac>("frac", kAny, whole_numbers()),
      {"round", [](Var x) { return round(x); }, [](T x) { return x.round(); },
       kAny, whole_numbers(0.5)},
      {"leaky_relu",
       [](Var x) { return leaky_relu(x, 0.2); },
       [](T x) { return at::leaky_relu(x, 0.2); },
       kAny,
       {0}},
      {"rrelu",
       [](Var x) { return rrelu(x, 0.1, 0.4); },
       [](T x) { return at::rrelu(x, 0.1, 0.4, false); },
       kAny,
       {0}},
      {"hardtanh",
       [](Var x) { return hardtanh(x, -0.5, 1.5); },
       [](T x) { return at::hardtanh(x, -0.5, 1.5); },
       kAny,
       {-0.5, 1.5}},
      {"threshold",
       [](Var x) { return threshold(x, 0.25, -1); },
       [](T x) { return at::threshold(x, 0.25, -1); },
       kAny,
       {0.25}},
      {"hardshrink",
       [](Var x) { return hardshrink(x); },
       [](T x) { return at::hardshrink(x); },
       kAny,
       {-0.5, 0.5}},
      {"softshrink",
       [](Var x) { return softshrink(x); },
       [](T x) { return at::softshrink(x); },
       kAny,
       {-0.5, 0.5}},
      {"clamp",
       [](Var x) { return clamp(x, -0.75, 1.0); },
       [](T x) { return at::clamp(x, -0.75, 1.0); },
       kAny,
       {-0.75, 1}},
      {"clamp_min",
       [](Var x) { return clamp_min(x, -0.25); },
       [](T x) { return at::clamp_min(x, -0.25); },
       kAny,
       {-0.25}},
      {"remainder_scalar", [](Var x) { return remainder_scalar(x, 1.0); },
       [](T x) { return at::remainder(x, 1.0); }, kAny, whole_numbers()},
      {"fmod_scalar", [](Var x) { return fmod_scalar(x, 1.0); },
       [](T x) { return at::fmod(x, 1.0); }, kAny, whole_numbers()},
  };
}

Move unary_move(const Unary& f) {
  return {
      f.name, [f](Chooser& c) -> Drawn {
        size_t x = c.any_float();
        for (double kink : f.kinks) {
          if (!is_clear_of(c, x, kink)) return {};
        }
        return step(
            {x}, [f](const Vars& v) { return f.ours(bring(v[0], f.domain)); },
            [f](const Tensors& t) { return f.theirs(bring(t[0], f.domain)); });
      }};
}

struct Binary {
  const char* name;
  std::function<Var(Var, Var)> ours;
  std::function<at::Tensor(const at::Tensor&, const at::Tensor&)> theirs;
  Domain a = Domain::kAny, b = Domain::kAny;
};

std::vector<Binary> binary() {
  using T = const at::Tensor&;
  constexpr auto kAny = Domain::kAny, kPositive = Domain::kPositive;
  auto wide = [](T x) { return x.to(at::kDouble); };
  return {
      {"add", [](Var a, Var b) { return add(a, b); },
       [](T a, T b) { return a + b; }},
      {"sub", [](Var a, Var b) { return sub(a, b); },
       [](T a, T b) { return a - b; }},
      {"mul", [](Var a, Var b) { return mul(a, b); },
       [](T a, T b) { return a * b; }},
      {"div", [](Var a, Var b) { return div(a, b); },
       [](T a, T b) { return a / b; }, kAny, kPositive},
      {"add alpha", [](Var a, Var b) { return add(a, b, -0.5); },
       [](T a, T b) { return at::add(a, b, -0.5); }},
      {"sub alpha", [](Var a, Var b) { return sub(a, b, int64_t{2}); },
       [](T a, T b) { return at::sub(a, b, 2); }},
      {"rsub", [](Var a, Var b) { return rsub(a, b, 0.5); },
       [](T a, T b) { return at::rsub(a, b, 0.5); }},
      {"atan2", atan2, [](T a, T b) { return at::atan2(a, b); }, kAny,
       kPositive},
      {"hypot", hypot, [](T a, T b) { return at::hypot(a, b); }, kPositive},
      {"pow", pow, [](T a, T b) { return at::pow(a, b); }, kPositive},
      {"xlogy", xlogy, [](T a, T b) { return at::xlogy(a, b); }, kAny,
       kPositive},
      {"lerp_scalar", [](Var a, Var b) { return lerp_scalar(a, b, 0.3); },
       [](T a, T b) { return at::lerp(a, b, 0.3); }},
      {"mixed types",
       [](Var a, Var b) {
         return cast(mul(cast(a, DType::kFloat64), b), a.dtype());
       },
       [wide](T a, T b) { return (wide(a) * b).to(a.scalar_type()); }},
  };
}

Move binary_move(const Binary& f) {
  return {f.name, [f](Chooser& c) -> Drawn {
            size_t a = c.any_float(), b = c.partner(a);
            bool flip = c.chance(0.5);
            return step(
                {flip ? b : a, flip ? a : b},
                [f](const Vars& v) {
                  return f.ours(bring(v[0], f.a), bring(v[1], f.b));
                },
                [f](const Tensors& t) {
                  return f.theirs(bring(t[0], f.a), bring(t[1], f.b));
                });
          }};
}

}  // namespace

void add_pointwise_moves(std::vector<Move>& moves) {
  for (const Unary& f : smooth()) moves.push_back(unary_move(f));
  for (const Unary& f : kinked()) moves.push_back(unary_move(f));
  for (const Binary& f : binary()) moves.push_back(binary_move(f));
}

}  // namespace braid::parity
