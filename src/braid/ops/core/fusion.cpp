#include "braid/ops/core/fusion.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "braid/ops/core/families.h"
#include "braid/ops/core/promotion.h"

namespace braid {
namespace {

constexpr double kNeeded = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Numbers = FusionOp::Numbers;

bool is_simple_power(const Numbers& numbers) {
  return std::ranges::count(std::array{2.0, 3.0, 0.5, -0.5, -1.0}, numbers[0]) >
         0;
}

// Limits that are no numbers make NaN of everything elsewhere.
bool are_limits(const Numbers& numbers) {
  return !std::isnan(numbers[0]) && !std::isnan(numbers[1]);
}

std::vector<FusionOp> make_fusion_ops() {
  const FusionNumber value{"value", kNeeded}, slope{"negative_slope", kNeeded};
  const FusionNumber min{"min", kNeeded}, max{"max", kNeeded};
  return {
      {"add", 2},
      {"sub", 2},
      {"mul", 2},
      {"div", 2},
      {"add_alpha", 2, {{{"alpha", kNeeded}}}},
      {"add_scalar", 1, {{value}}},
      {"mul_scalar", 1, {{value}}},
      {"div_scalar", 1, {{value}}},
      {"rsub_scalar", 1, {{value}}},
      {"neg", 1},
      {"abs", 1},
      {"square", 1},
      {"sqrt", 1},
      {"rsqrt", 1},
      {"reciprocal", 1},
      {"pow_scalar", 1, {{value}}, is_simple_power},
      {"exp", 1},
      {"maximum", 2},
      {"minimum", 2},
      {"clamp", 1, {{{"min", -kInfinity}, {"max", kInfinity}}}, are_limits},
      {"addcmul", 3, {{value}}},
      {"addcdiv", 3, {{value}}},
      {"lerp", 3},
      {"lerp_scalar", 2, {{{"weight", kNeeded}}}},
      {"relu", 1},
      {"relu_backward", 2},
      {"leaky_relu", 1, {{slope}}},
      {"leaky_relu_backward", 2, {{slope}}},
      {"hardtanh", 1, {{min, max}}, are_limits},
      {"hardtanh_backward", 2, {{min, max}}, are_limits},
      {"hardsigmoid", 1},
      {"hardsigmoid_backward", 2},
      {"hardswish", 1},
      {"hardswish_backward", 2},
      {"tanh", 1},
      {"tanh_backward", 2},
      {"sigmoid", 1},
      {"sigmoid_backward", 2},
      {"silu", 1},
      {"silu_backward", 2},
      {.name = "gelu", .operands = 1, .tanh = true},
      {.name = "gelu_backward", .operands = 2, .tanh = true},
  };
}

bool is_number(const Attr* attr) {
  return attr && (std::holds_alternative<double>(*attr) ||
                  std::holds_alternative<int64_t>(*attr));
}

// Whether the attributes have all numbers of the op, which are then set.
bool take_numbers(const FusionOp& op, const Attrs& attrs, Numbers& numbers) {
  for (size_t i = 0; i < op.numbers.size() && op.numbers[i].name; ++i) {
    const FusionNumber& number = op.numbers[i];
    bool given = is_number(attrs.find(number.name));
    bool missing =
        !given && (attrs.has(number.name) || std::isnan(number.fallback));
    if (missing) return false;
    numbers[i] = given ? attrs.number(number.name) : number.fallback;
  }
  return !op.allows || op.allows(numbers);
}

// Floats of one type that broadcast; every step makes all elements.
std::vector<ValueType> fusion_types(const NodeView& v) {
  for (size_t i = 0; i < v.count(); ++i) {
    if (!v.has(i)) v.fail("input {} is missing", i);
    bool fits = v.dtype(i) == v.dtype(0) && (v.dtype(i) == DType::kFloat32 ||
                                             v.dtype(i) == DType::kFloat64);
    if (!fits) {
      v.fail("expected inputs that are all f32 or all f64, got {} (input {})",
             dtype_name(v.dtype(i)), i);
    }
  }
  Fusion fusion = read_fusion(v.attrs(), v.count());
  return std::vector<ValueType>(fusion.outputs.size(),
                                {v.dtype(0), common_shape(v)});
}

Cost fusion_cost(const NodeView& v) {
  auto steps = read_fusion(v.attrs(), v.count()).steps.size();
  return {.flops = static_cast<double>(steps) *
                   static_cast<double>(num_elements(common_shape(v)))};
}

Op fusion_op() {
  Op op{.name = "fusion",
        .summary = "a run of pointwise ops, see `fusion` in graph.md",
        .min_inputs = 1,
        .max_inputs = kMaxFusionInputs,
        .shape = fusion_types,
        .cost = fusion_cost};
  for (size_t o = 0; o < kMaxFusionOutputs; ++o) {
    for (size_t i = 0; i < kMaxFusionInputs; ++i) op.in_place.push_back({o, i});
  }
  return op;
}

}  // namespace

const std::vector<FusionOp>& fusion_ops() {
  static const std::vector<FusionOp> ops = make_fusion_ops();
  return ops;
}

const FusionOp* find_fusion_op(std::string_view name) {
  auto at = std::ranges::find(fusion_ops(), name, &FusionOp::name);
  return at == fusion_ops().end() ? nullptr : &*at;
}

FusionStep fusion_step(const Node& node) {
  const FusionOp* op = node.op->fusible;
  if (!op || (op->tanh && !node.attrs.flag_or("tanh", false))) return {};
  FusionStep step{.op = op};
  return take_numbers(*op, node.attrs, step.numbers) ? step : FusionStep{};
}

void add_fusion_ops(OpTable& table) { table.add(fusion_op()); }

}  // namespace braid
