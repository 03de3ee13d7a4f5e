// Complex numbers: which operators may keep their rules.
#pragma once

#include <string_view>

#include "braid/io/pt2/rule.h"

namespace braid::io::pt2 {

// Rules whose gradients hold for complex numbers too: they are linear and
// their factors are real. All others are left to libtorch.
bool is_linear(std::string_view name);

// Whether no value changes: a check, or `to` in the type that there is.
bool keeps_values(const RuleContext& c);

// Whether one of the tensors that an operator takes is complex.
bool takes_complex(RuleContext& c);

}  // namespace braid::io::pt2
