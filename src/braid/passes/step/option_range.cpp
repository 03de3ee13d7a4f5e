#include "braid/passes/step/option_range.h"

#include <fmt/format.h>

namespace braid::passes {

bool Range::holds(double value) const {
  return (value > low || (with_low && value == low)) &&
         (value < high || (with_high && value == high));
}

std::string Range::text() const {
  if (high == std::numeric_limits<double>::infinity()) {
    return fmt::format("{} {}", with_low ? "at least" : "above", low);
  }
  return fmt::format("from {} to {}{}", low, with_high ? "" : "below ", high);
}

Range option_range(const std::string& name) {
  if (name == "beta1" || name == "beta2" || name == "ema_decay") {
    return {.low = 0, .high = 1, .with_high = false};
  }
  if (name == "clip_norm" || name == "clip_value") {
    return {.low = 0, .with_low = false};
  }
  if (name == "loss_scale") return {.low = 0, .with_low = false};
  if (name == "growth_factor") return {.low = 1};
  if (name == "backoff_factor") {
    return {.low = 0, .high = 1, .with_low = false};
  }
  if (name == "dampening") return {};
  return {.low = 0};
}

}  // namespace braid::passes
