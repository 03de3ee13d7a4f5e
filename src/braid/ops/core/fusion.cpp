#include "braid/ops/core/fusion.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "braid/base/error.h"
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

std::vector<FusionOp> make_mixed_fusion_ops() {
  std::vector<FusionOp> ops{{"gelu_erf", 1}, {"gelu_erf_backward", 2}};
  ops.push_back({.name = "to_f16", .operands = 1, .to = DType::kFloat16});
  ops.push_back({.name = "to_bf16", .operands = 1, .to = DType::kBFloat16});
  ops.push_back({.name = "to_f32", .operands = 1, .to = DType::kFloat32});
  ops.push_back({.name = "to_f64", .operands = 1, .to = DType::kFloat64});
  return ops;
}

const FusionOp* find_in(const std::vector<FusionOp>& ops,
                        std::string_view name) {
  auto at = std::ranges::find(ops, name, &FusionOp::name);
  return at == ops.end() ? nullptr : &*at;
}

// The step of an op whose name depends on the node.
const FusionOp* mixed_step_op(const Node& node) {
  if (node.is(OpKind::kCast)) {
    return find_in(mixed_fusion_ops(), "to_" + node.attrs.text("dtype"));
  }
  const FusionOp* by_tanh = node.op->fusible;  // gelu, or its gradient
  if (!by_tanh || !by_tanh->tanh) return nullptr;
  return find_in(mixed_fusion_ops(),
                 by_tanh->operands == 1 ? "gelu_erf" : "gelu_erf_backward");
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

// Floats that broadcast; every step makes all elements.
std::vector<ValueType> fusion_types(const NodeView& v) {
  std::vector<DType> inputs;
  for (size_t i = 0; i < v.count(); ++i) {
    if (!v.has(i)) v.fail("input {} is missing", i);
    expect_float(v, i);
    inputs.push_back(v.dtype(i));
  }
  Fusion fusion = read_fusion(v.attrs(), v.count());
  std::vector<DType> made = fusion_dtypes(fusion, inputs);
  std::vector<ValueType> types;
  for (size_t step : fusion.outputs) {
    types.push_back({made[step], common_shape(v)});
  }
  return types;
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

const std::vector<FusionOp>& mixed_fusion_ops() {
  static const std::vector<FusionOp> ops = make_mixed_fusion_ops();
  return ops;
}

const FusionOp* find_fusion_op(std::string_view name) {
  const FusionOp* op = find_in(fusion_ops(), name);
  return op ? op : find_in(mixed_fusion_ops(), name);
}

FusionStep fusion_step(const Node& node, bool mixed) {
  const FusionOp* op = node.op->fusible;
  if (op && op->tanh && !node.attrs.flag_or("tanh", false)) op = nullptr;
  if (!op && mixed) op = mixed_step_op(node);
  if (!op) return {};
  FusionStep step{.op = op};
  return take_numbers(*op, node.attrs, step.numbers) ? step : FusionStep{};
}

std::vector<DType> fusion_dtypes(const Fusion& fusion,
                                 const std::vector<DType>& inputs) {
  std::vector<DType> made;
  for (const FusionStep& step : fusion.steps) {
    auto dtype_of = [&](const FusionOperand& operand) {
      return operand.is_step ? made[operand.index] : inputs[operand.index];
    };
    DType dtype = dtype_of(step.operands[0]);
    for (const FusionOperand& operand : step.operands) {
      if (dtype_of(operand) == dtype) continue;
      fail_usage("[fusion] step {} '{}' has operands of {} and {}", made.size(),
                 step.op->name, dtype_name(dtype),
                 dtype_name(dtype_of(operand)));
    }
    made.push_back(step.op->to.value_or(dtype));
  }
  return made;
}

void add_fusion_ops(OpTable& table) { table.add(fusion_op()); }

}  // namespace braid
