// Layers: ops together with the slots they own. Names and initial values are
// those of torch.nn, so that state dicts exchange.
#pragma once

#include <string_view>

#include "braid/ops/functions.h"

namespace braid::models {

// y[..., outputs] = x w^T + b; slots name.weight, name.bias.
Var linear(Var x, int64_t outputs, std::string_view name, bool bias = true);

// Square kernel; slots name.weight, name.bias.
Var conv2d(Var x, int64_t outputs, int64_t kernel, std::string_view name,
           int64_t stride = 1, int64_t padding = 0, bool bias = true);

// Batch statistics in training; slots weight, bias, running_mean,
// running_var, num_batches_tracked.
Var batch_norm(Var x, std::string_view name, double momentum = 0.1,
               double eps = 1e-5);

// Over the last dimension; slots name.weight, name.bias.
Var layer_norm(Var x, std::string_view name, double eps = 1e-5);

// Rows of a table of [entries, columns]; slot name.weight.
Var embedding(Var indices, int64_t entries, int64_t columns,
              std::string_view name, DType dtype = DType::kFloat32);

// A learned [length, columns] table; slot name.
Var position_table(Graph& graph, DType dtype, int64_t length, int64_t columns,
                   std::string_view name = "pos");

// What a random op at the present path draws from. p is a hyper-parameter of
// the member: slot hyper/<path>.p; a layer with two rates has .p2 as well.
Draw draw(Graph& graph, double p);

// Dropout with a rate of its own, as above.
Var dropout(Var x, double p, std::string_view name);

}  // namespace braid::models
