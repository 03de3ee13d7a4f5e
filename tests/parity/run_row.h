// Runs one row in Braid and in libtorch.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "braid/runtime/backend.h"
#include "row.h"

namespace braid::parity {

// What a run gives: the output "y" and the gradient of each float input.
using Results = std::map<std::string, at::Tensor>;

// Inputs of one member, by position; undefined where missing.
Tensors random_inputs(const Row& row, DType dtype, int64_t seed);

// Weights of the scalar whose gradient is taken: loss = sum(y * weights).
at::Tensor random_weights(const Row& row, const Tensors& inputs);

Results run_reference(const Row& row, const Tensors& inputs);

// Runs the row in Braid for one model, or an array when more sets of inputs
// are given; results by member.
std::vector<Results> run_braid(const Row& row,
                               const std::vector<Tensors>& inputs, DType dtype,
                               runtime::Backend& backend, bool as_array,
                               DType precision = DType::kFloat32);

// max |a - b| / max |b|, with b's scale bounded from below.
double difference(const at::Tensor& a, const at::Tensor& b);

}  // namespace braid::parity
