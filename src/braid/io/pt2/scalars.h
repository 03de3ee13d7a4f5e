// Arithmetic on sizes in an exported graph: every number is known at import.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "braid/io/pt2/rule.h"

namespace braid::io::pt2 {

// As numbers of one kind. A float becomes whole towards zero; one that does not
// fit 64 bits is an error.
double real(const Scalar& value);
int64_t whole(const Scalar& value);

// The result of a target such as "_operator.mul" or "torch.sym_max"; nothing
// when it is none of these.
std::optional<Scalar> scalar_result(const std::string& target,
                                    const std::vector<Scalar>& arguments);

}  // namespace braid::io::pt2
