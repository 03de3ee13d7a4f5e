#include "braid/io/pt2/scalars.h"

#include <cmath>
#include <functional>
#include <map>

#include "braid/base/error.h"

namespace braid::io::pt2 {
namespace {

[[noreturn]] void fail_large() { fail_usage("a number is too large"); }

bool is_real(const Scalar& v) { return std::holds_alternative<double>(v); }

// The arguments of a call, of which there may be too few.
class Arguments {
 public:
  explicit Arguments(const std::vector<Scalar>& list) : list_(list) {}

  const Scalar& operator[](size_t i) const {
    if (i >= list_.size()) fail_usage("argument {} is missing", i);
    return list_[i];
  }
  // As Python: whole numbers stay whole.
  bool are_real() const { return is_real((*this)[0]) || is_real((*this)[1]); }

 private:
  const std::vector<Scalar>& list_;
};

// `exact` has the interface of __builtin_add_overflow.
template <class Real, class Exact>
Scalar arithmetic(const Arguments& a, Real rounded, Exact exact) {
  if (a.are_real()) return rounded(real(a[0]), real(a[1]));
  int64_t result = 0;
  if (exact(whole(a[0]), whole(a[1]), &result)) fail_large();
  return result;
}

Scalar add(const Arguments& a) {
  return arithmetic(a, std::plus<double>(), [](auto x, auto y, auto* z) {
    return __builtin_add_overflow(x, y, z);
  });
}

Scalar subtract(const Arguments& a) {
  return arithmetic(a, std::minus<double>(), [](auto x, auto y, auto* z) {
    return __builtin_sub_overflow(x, y, z);
  });
}

Scalar multiply(const Arguments& a) {
  return arithmetic(a, std::multiplies<double>(), [](auto x, auto y, auto* z) {
    return __builtin_mul_overflow(x, y, z);
  });
}

Scalar negate(const Arguments& a) {
  if (is_real(a[0])) return -real(a[0]);
  std::vector<Scalar> zero_and{int64_t{0}, a[0]};
  return subtract(Arguments(zero_and));
}

Scalar positive(const Arguments& a) {
  return is_real(a[0]) ? a[0] : Scalar(whole(a[0]));
}

void check_divisor(const Scalar& divisor) {
  if (real(divisor) == 0) fail_usage("a size is divided by zero");
}

Scalar true_div(const Arguments& a) {
  check_divisor(a[1]);
  return real(a[0]) / real(a[1]);
}

Scalar floor_div(const Arguments& a) {
  check_divisor(a[1]);
  if (a.are_real()) return std::floor(real(a[0]) / real(a[1]));
  int64_t x = whole(a[0]), y = whole(a[1]);
  if (y == -1) return negate(a);
  return x / y - ((x % y != 0 && (x < 0) != (y < 0)) ? 1 : 0);
}

// Its sign is that of the divisor.
template <class T>
T with_sign_of(T divisor, T remainder) {
  bool differs = remainder != 0 && (remainder < 0) != (divisor < 0);
  return differs ? remainder + divisor : remainder;
}

Scalar modulo(const Arguments& a) {
  check_divisor(a[1]);
  if (a.are_real()) {
    return with_sign_of(real(a[1]), std::fmod(real(a[0]), real(a[1])));
  }
  int64_t x = whole(a[0]), y = whole(a[1]);
  return y == -1 ? int64_t{0} : with_sign_of(y, x % y);
}

int64_t whole_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (;;) {
    if (exponent % 2 != 0 && __builtin_mul_overflow(result, base, &result)) {
      fail_large();
    }
    exponent /= 2;
    if (exponent == 0) return result;
    if (__builtin_mul_overflow(base, base, &base)) fail_large();
  }
}

Scalar power(const Arguments& a) {
  if (!a.are_real() && whole(a[1]) >= 0) {
    return whole_power(whole(a[0]), whole(a[1]));
  }
  if (real(a[1]) < 0) check_divisor(a[0]);
  return std::pow(real(a[0]), real(a[1]));
}

// Whole numbers are compared as such: not all of them are doubles.
template <class F>
bool compare(const Arguments& a, F f) {
  return a.are_real() ? f(real(a[0]), real(a[1])) : f(whole(a[0]), whole(a[1]));
}

// One of the two, a real number when the other is one.
Scalar choice(const Arguments& a, bool first) {
  const Scalar& chosen = a[first ? 0 : 1];
  return a.are_real() ? Scalar(real(chosen)) : chosen;
}

// A real number as a whole one.
template <class F>
Scalar rounded(const Arguments& a, F f) {
  return whole(is_real(a[0]) ? Scalar(f(real(a[0]))) : a[0]);
}

using Function = Scalar (*)(const Arguments&);

const std::map<std::string, Function, std::less<>>& functions() {
  static const std::map<std::string, Function, std::less<>> table{
      {"add", add},
      {"sub", subtract},
      {"mul", multiply},
      {"truediv", true_div},
      {"floordiv", floor_div},
      {"mod", modulo},
      {"pow", power},
      {"neg", negate},
      {"pos", positive},
      {"eq", [](auto& a) -> Scalar { return compare(a, std::equal_to<>()); }},
      {"ne",
       [](auto& a) -> Scalar { return compare(a, std::not_equal_to<>()); }},
      {"lt", [](auto& a) -> Scalar { return compare(a, std::less<>()); }},
      {"le", [](auto& a) -> Scalar { return compare(a, std::less_equal<>()); }},
      {"gt", [](auto& a) -> Scalar { return compare(a, std::greater<>()); }},
      {"ge",
       [](auto& a) -> Scalar { return compare(a, std::greater_equal<>()); }},
      {"and_", [](auto& a) -> Scalar { return whole(a[0]) && whole(a[1]); }},
      {"or_", [](auto& a) -> Scalar { return whole(a[0]) || whole(a[1]); }},
      {"sym_not", [](auto& a) -> Scalar { return whole(a[0]) == 0; }},
      {"sym_int", [](auto& a) -> Scalar { return whole(a[0]); }},
      {"sym_float", [](auto& a) -> Scalar { return real(a[0]); }},
      {"sym_max",
       [](auto& a) { return choice(a, compare(a, std::greater_equal<>())); }},
      {"sym_min",
       [](auto& a) { return choice(a, compare(a, std::less_equal<>())); }},
      {"sym_ite", [](auto& a) { return whole(a[0]) ? a[1] : a[2]; }},
      {"sym_sqrt", [](auto& a) -> Scalar { return std::sqrt(real(a[0])); }},
      {"ceil",
       [](auto& a) {
         return rounded(a, [](double x) { return std::ceil(x); });
       }},
      {"floor",
       [](auto& a) {
         return rounded(a, [](double x) { return std::floor(x); });
       }},
      {"trunc",
       [](auto& a) {
         return rounded(a, [](double x) { return std::trunc(x); });
       }},
  };
  return table;
}

}  // namespace

double real(const Scalar& value) {
  return std::visit([](auto v) { return static_cast<double>(v); }, value);
}

int64_t whole(const Scalar& value) {
  const double* number = std::get_if<double>(&value);
  if (!number) {
    return std::visit([](auto v) { return static_cast<int64_t>(v); }, value);
  }
  if (!(std::abs(*number) < 0x1p63)) fail_large();
  return static_cast<int64_t>(*number);
}

std::optional<Scalar> scalar_result(const std::string& target,
                                    const std::vector<Scalar>& arguments) {
  for (const char* prefix : {"_operator.", "operator.", "math.", "torch."}) {
    if (!target.starts_with(prefix) || target.starts_with("torch.ops")) {
      continue;
    }
    auto found = functions().find(target.substr(std::string(prefix).size()));
    if (found != functions().end()) return found->second(Arguments(arguments));
  }
  return std::nullopt;
}

}  // namespace braid::io::pt2
