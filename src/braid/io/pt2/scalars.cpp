#include "braid/io/pt2/scalars.h"

#include <cmath>
#include <map>

#include "braid/base/error.h"

namespace braid::io::pt2 {
namespace {

double real(const Scalar& v) {
  return std::visit([](auto x) { return static_cast<double>(x); }, v);
}

int64_t whole(const Scalar& v) {
  return std::visit([](auto x) { return static_cast<int64_t>(x); }, v);
}

bool is_real(const Scalar& v) { return std::holds_alternative<double>(v); }

using Arguments = std::vector<Scalar>;

// As Python: integers stay integers.
template <class F>
Scalar arithmetic(const Arguments& a, F f) {
  if (is_real(a.at(0)) || is_real(a.at(1))) {
    return static_cast<double>(f(real(a[0]), real(a[1])));
  }
  return static_cast<int64_t>(f(whole(a[0]), whole(a[1])));
}

Scalar floor_div(const Arguments& a) {
  if (real(a.at(1)) == 0) fail_usage("a size is divided by zero");
  double quotient = std::floor(real(a[0]) / real(a[1]));
  if (is_real(a[0]) || is_real(a[1])) return quotient;
  int64_t x = whole(a[0]), y = whole(a[1]);
  return x / y - ((x % y != 0 && (x < 0) != (y < 0)) ? 1 : 0);
}

Scalar modulo(const Arguments& a) {
  if (real(a.at(1)) == 0) fail_usage("a size is divided by zero");
  if (is_real(a[0]) || is_real(a[1])) {
    return real(a[0]) - std::floor(real(a[0]) / real(a[1])) * real(a[1]);
  }
  return whole(a[0]) - whole(floor_div(a)) * whole(a[1]);
}

Scalar power(const Arguments& a) {
  double result = std::pow(real(a.at(0)), real(a.at(1)));
  bool is_whole = !is_real(a[0]) && !is_real(a[1]) && whole(a[1]) >= 0;
  return is_whole ? Scalar(static_cast<int64_t>(std::llround(result)))
                  : Scalar(result);
}

using Function = Scalar (*)(const Arguments&);

const std::map<std::string, Function, std::less<>>& functions() {
  static const std::map<std::string, Function, std::less<>> table{
      {"add", [](auto& a) { return arithmetic(a, std::plus<>()); }},
      {"sub", [](auto& a) { return arithmetic(a, std::minus<>()); }},
      {"mul", [](auto& a) { return arithmetic(a, std::multiplies<>()); }},
      {"truediv",
       [](auto& a) -> Scalar { return real(a.at(0)) / real(a.at(1)); }},
      {"floordiv", floor_div},
      {"mod", modulo},
      {"pow", power},
      {"neg",
       [](auto& a) -> Scalar {
         return is_real(a.at(0)) ? Scalar(-real(a[0])) : Scalar(-whole(a[0]));
       }},
      {"eq", [](auto& a) -> Scalar { return real(a.at(0)) == real(a.at(1)); }},
      {"ne", [](auto& a) -> Scalar { return real(a.at(0)) != real(a.at(1)); }},
      {"lt", [](auto& a) -> Scalar { return real(a.at(0)) < real(a.at(1)); }},
      {"le", [](auto& a) -> Scalar { return real(a.at(0)) <= real(a.at(1)); }},
      {"gt", [](auto& a) -> Scalar { return real(a.at(0)) > real(a.at(1)); }},
      {"ge", [](auto& a) -> Scalar { return real(a.at(0)) >= real(a.at(1)); }},
      {"and_",
       [](auto& a) -> Scalar { return whole(a.at(0)) && whole(a.at(1)); }},
      {"or_",
       [](auto& a) -> Scalar { return whole(a.at(0)) || whole(a.at(1)); }},
      {"sym_not", [](auto& a) -> Scalar { return whole(a.at(0)) == 0; }},
      {"sym_int", [](auto& a) -> Scalar { return whole(a.at(0)); }},
      {"sym_float", [](auto& a) -> Scalar { return real(a.at(0)); }},
      {"sym_max",
       [](auto& a) { return real(a.at(0)) >= real(a.at(1)) ? a[0] : a[1]; }},
      {"sym_min",
       [](auto& a) { return real(a.at(0)) <= real(a.at(1)) ? a[0] : a[1]; }},
      {"sym_ite", [](auto& a) { return whole(a.at(0)) ? a.at(1) : a.at(2); }},
      {"sym_sqrt", [](auto& a) -> Scalar { return std::sqrt(real(a.at(0))); }},
      {"ceil",
       [](auto& a) -> Scalar {
         return static_cast<int64_t>(std::ceil(real(a.at(0))));
       }},
      {"floor",
       [](auto& a) -> Scalar {
         return static_cast<int64_t>(std::floor(real(a.at(0))));
       }},
      {"trunc",
       [](auto& a) -> Scalar {
         return static_cast<int64_t>(std::trunc(real(a.at(0))));
       }},
      {"round",
       [](auto& a) -> Scalar {
         return static_cast<int64_t>(std::nearbyint(real(a.at(0))));
       }},
  };
  return table;
}

}  // namespace

std::optional<Scalar> scalar_result(const std::string& target,
                                    const std::vector<Scalar>& arguments) {
  for (const char* prefix : {"_operator.", "operator.", "math.", "torch."}) {
    if (!target.starts_with(prefix) || target.starts_with("torch.ops")) {
      continue;
    }
    auto found = functions().find(target.substr(std::string(prefix).size()));
    if (found != functions().end()) return found->second(arguments);
  }
  return std::nullopt;
}

}  // namespace braid::io::pt2
