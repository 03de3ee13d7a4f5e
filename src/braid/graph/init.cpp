#include "braid/graph/init.h"

#include <cmath>

#include "braid/base/call_text.h"
#include "braid/base/error.h"
#include "braid/base/text.h"

namespace braid {
namespace {

using Kind = Init::Kind;

const InitKind& find_kind(const std::string& name) {
  std::vector<std::string> known;
  for (const InitKind& kind : init_kinds()) {
    if (kind.name == name) return kind;
    known.push_back(kind.name);
  }
  fail_usage("[init] unknown initialiser '{}'\nHINT: {}", name,
             name_hint(name, known));
}

const InitValue& find_value(const InitKind& kind, const std::string& name) {
  std::vector<std::string> known;
  for (const InitValue& value : kind.values) {
    if (value.name == name) return value;
    known.push_back(value.name);
  }
  fail_usage("[init] {} has no value '{}'{}", kind.name, name,
             known.empty() ? std::string()
                           : fmt::format("\nHINT: {}", name_hint(name, known)));
}

bool needs_fans(Kind kind) {
  return kind == Kind::kXavierUniform || kind == Kind::kXavierNormal ||
         kind == Kind::kKaimingUniform || kind == Kind::kKaimingNormal;
}

// What no numbers could be drawn by; empty when all is well.
std::string value_problem(const Init& init) {
  std::string problem;
  if (init.kind == Kind::kUniform && init.a > init.b) problem = "low <= high";
  if (init.kind == Kind::kNormal && init.b < 0) problem = "std >= 0";
  if (init.kind == Kind::kTruncNormal && !(init.c <= init.d && init.b > 0)) {
    problem = "a <= b and std > 0";
  }
  bool is_xavier =
      init.kind == Kind::kXavierUniform || init.kind == Kind::kXavierNormal;
  if (is_xavier && init.a < 0) problem = "gain >= 0";
  bool is_finite = std::isfinite(init.a) && std::isfinite(init.b);
  if (init.kind != Kind::kConstant && !is_finite) problem = "finite numbers";
  if (problem.empty()) return "";
  return fmt::format("{} needs {}", init_text(init), problem);
}

// The standard deviation that a rule with fans asks for.
double fan_std(const Init& init, const Fans& fans) {
  if (init.kind == Kind::kXavierUniform || init.kind == Kind::kXavierNormal) {
    return init.a * std::sqrt(2 / (fans.in + fans.out));
  }
  double gain = std::sqrt(2 / (1 + init.a * init.a));
  return gain / std::sqrt(init.b != 0 ? fans.out : fans.in);
}

}  // namespace

const std::vector<InitKind>& init_kinds() {
  const InitValue gain{"gain", 1, &Init::a}, slope{"a", 0, &Init::a},
      fan_out{"fan_out", 0, &Init::b}, mean{"mean", 0, &Init::a},
      std{"std", 1, &Init::b};
  static const std::vector<InitKind> kinds = {
      {Kind::kConstant, "constant", {{"value", 0, &Init::a}}, "one number"},
      {Kind::kUniform,
       "uniform",
       {{"low", 0, &Init::a}, {"high", 1, &Init::b}},
       "from low to high"},
      {Kind::kNormal, "normal", {mean, std}, "normal"},
      {Kind::kTruncNormal,
       "trunc_normal",
       {mean, std, {"a", -2, &Init::c}, {"b", 2, &Init::d}},
       "normal between a and b"},
      {Kind::kXavierUniform,
       "xavier_uniform",
       {gain},
       "bound gain * sqrt(6 / (fan_in + fan_out))"},
      {Kind::kXavierNormal,
       "xavier_normal",
       {gain},
       "std gain * sqrt(2 / (fan_in + fan_out))"},
      {Kind::kKaimingUniform,
       "kaiming_uniform",
       {slope, fan_out},
       "bound sqrt(6 / (1 + a^2) / fan), by fan_in or (1) fan_out"},
      {Kind::kKaimingNormal,
       "kaiming_normal",
       {slope, fan_out},
       "std sqrt(2 / (1 + a^2) / fan), by fan_in or (1) fan_out"},
      {Kind::kOrthogonal,
       "orthogonal",
       {gain},
       "orthogonal rows or columns, times gain"},
      {Kind::kEye, "eye", {}, "the identity"},
      {Kind::kDirac, "dirac", {}, "a convolution that changes nothing"},
  };
  return kinds;
}

const InitKind& init_kind(Kind kind) {
  for (const InitKind& row : init_kinds()) {
    if (row.kind == kind) return row;
  }
  fail_usage("[init] there is no kind {}", static_cast<int>(kind));
}

Init parse_init(std::string_view text) {
  CallText call = parse_call(text, "[init]");
  const InitKind& kind = find_kind(call.name);
  Init init{kind.kind};
  for (const InitValue& value : kind.values) init.*value.place = value.value;
  for (const CallValue& given : call.values) {
    const InitValue& value = find_value(kind, given.name);
    if (given.is_list || std::isnan(given.numbers.at(0))) {
      fail_usage("[init] {}: '{}' is one number", kind.name, given.name);
    }
    init.*value.place = given.numbers[0];
  }
  std::string problem = value_problem(init);
  if (!problem.empty()) fail_usage("[init] {}", problem);
  return init;
}

std::string init_text(const Init& init) {
  const InitKind& kind = init_kind(init.kind);
  CallText call{kind.name};
  for (const InitValue& value : kind.values) {
    call.values.push_back({value.name, {init.*value.place}});
  }
  return call_text(call);
}

std::string signature_text(const InitKind& kind) {
  CallText call{kind.name};
  for (const InitValue& value : kind.values) {
    call.values.push_back({value.name, {value.value}});
  }
  return call_text(call);
}

std::string init_problem(const Init& init, const Shape& shape) {
  const std::string& name = init_kind(init.kind).name;
  size_t rank = shape.size();
  bool fits = true;
  if (needs_fans(init.kind) || init.kind == Kind::kOrthogonal) fits = rank >= 2;
  if (init.kind == Kind::kEye) fits = rank == 2;
  if (init.kind == Kind::kDirac) fits = rank >= 3 && rank <= 5;
  if (!fits) {
    return fmt::format("{} does not fit the shape {}", name, shape_text(shape));
  }
  return value_problem(init);
}

Fans fans_of(const Shape& shape) {
  double field = 1;
  for (size_t i = 2; i < shape.size(); ++i) {
    field *= static_cast<double>(shape[i]);
  }
  return {static_cast<double>(shape.at(1)) * field,
          static_cast<double>(shape.at(0)) * field};
}

Init resolved(const Init& init, const Shape& shape) {
  if (!needs_fans(init.kind)) return init;
  double std = fan_std(init, fans_of(shape));
  if (!std::isfinite(std)) std = 0;  // nothing to fill
  bool uniform =
      init.kind == Kind::kXavierUniform || init.kind == Kind::kKaimingUniform;
  return uniform ? Init::uniform(std::sqrt(3.0) * std) : Init::normal(std);
}

}  // namespace braid
