// Layers: ops together with the slots they own. Names and initial values are
// those of torch.nn, so that state dicts exchange.
#pragma once

#include <optional>
#include <string_view>

#include "braid/ops/build/functions.h"

namespace braid::models {

// How the weight and the bias of a layer begin; where not given, as in
// torch.nn.
struct Begin {
  std::optional<Init> weight = {};
  std::optional<Init> bias = {};
};

struct LinearOptions {
  bool bias = true;
  Begin begin = {};
};
// y[..., outputs] = x w^T + b; slots name.weight, name.bias.
Var linear(Var x, int64_t outputs, std::string_view name,
           const LinearOptions& options = {});

struct ConvOptions {
  Conv conv = {};
  bool bias = true;
  Begin begin = {};
};
// Kernels of one size in all dimensions; slots name.weight, name.bias.
Var conv1d(Var x, int64_t outputs, int64_t kernel, std::string_view name,
           const ConvOptions& options = {});
Var conv2d(Var x, int64_t outputs, int64_t kernel, std::string_view name,
           const ConvOptions& options = {});
Var conv_transpose2d(Var x, int64_t outputs, int64_t kernel,
                     std::string_view name, const ConvOptions& options = {});

struct NormOptions {
  double momentum = 0.1;
  double eps = 1e-5;
  Begin begin = {};
};
// Batch statistics in training; slots weight, bias, running_mean,
// running_var, num_batches_tracked.
Var batch_norm(Var x, std::string_view name, const NormOptions& options = {});

// Over the last dimension; slots name.weight, name.bias.
Var layer_norm(Var x, std::string_view name, double eps = 1e-5);

struct EmbeddingOptions {
  Init begin = Init::normal(1);
  int64_t padding = -1;  // a row whose look-ups get no gradient
};
// Rows of a table of [entries, columns]; slot name.weight.
Var embedding(Var indices, int64_t entries, int64_t columns,
              std::string_view name, DType dtype = DType::kFloat32,
              const EmbeddingOptions& options = {});

// The first rows, [length, columns], of such a table: learned positions.
Var first_rows(Graph& graph, int64_t length, int64_t entries, int64_t columns,
               std::string_view name, DType dtype,
               const EmbeddingOptions& options = {});

struct LstmOptions {
  int64_t layers = 1;
  double dropout = 0;  // between layers
  std::optional<Init> begin = {};
};
// x[N, T, I] -> [N, T, units], from zero states; slots name.weight_ih_l0 ...
Var lstm(Var x, int64_t units, std::string_view name,
         const LstmOptions& options = {});

// A learned tensor of its own; slot <path>.name.
Var parameter(Graph& graph, std::string_view name, DType dtype, Shape shape,
              Init init);

// Gives a slot of that full name a second one in the state dict, and reads it
// for its second use.
void add_name(Graph& graph, std::string_view slot, std::string second_name);
Var tied(Graph& graph, std::string_view slot, std::string second_name);

// What a random op at the present path draws from. p is a hyper-parameter of
// the member: slot hyper/<path>.p; a layer with two rates has .p2 as well.
Draw draw(Graph& graph, double p);
// The same with a rate, f64[], that is no hyper-parameter.
Draw draw_at(Var rate);

// Dropout with a rate of its own, as above; x itself when p is 0.
Var dropout(Var x, double p, std::string_view name);

}  // namespace braid::models
