// What `braid inspect --copies B` says about an array.
#pragma once

#include "braid/compile/pipeline.h"

namespace braid::cli {

// Prints where the members lie in each layer, how its convolution is computed,
// which values are turned to another layout, and what all members share.
void print_array(const OpTable& ops, const compile::StepSpec& spec,
                 const compile::Target& target);

}  // namespace braid::cli
