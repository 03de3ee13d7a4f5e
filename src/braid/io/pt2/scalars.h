// Arithmetic on sizes in an exported graph: every number is known at import.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "braid/io/pt2/rule.h"

namespace braid::io::pt2 {

// The result of a target such as "_operator.mul" or "torch.sym_max"; nothing
// when it is none of these.
std::optional<Scalar> scalar_result(const std::string& target,
                                    const std::vector<Scalar>& arguments);

}  // namespace braid::io::pt2
