#include "braid/models/layers.h"

#include <cmath>

#include "braid/base/error.h"
#include "braid/passes/names.h"

namespace braid::models {
namespace {

SlotId buffer(Graph& graph, std::string_view name, DType dtype, Shape shape,
              double value) {
  return graph.add_slot({.name = join_path(graph.path(), name),
                         .dtype = dtype,
                         .shape = std::move(shape),
                         .role = Role::kBuffer,
                         .init = Init::constant(value)});
}

// A scalar slot that several layers may read.
Var scalar(Graph& graph, const std::string& name, DType dtype, Role role,
           SlotUse use, double value) {
  SlotId id = graph.find_slot(name);
  if (id == kNone) {
    id = graph.add_slot({.name = name,
                         .dtype = dtype,
                         .shape = {},
                         .role = role,
                         .use = use,
                         .init = Init::constant(value)});
  }
  return read(graph, id);
}

Var micro_index(Graph& graph) {
  ValueId id = graph.find_input(passes::kMicroInput);
  if (id == kNone) {
    return input(graph, passes::kMicroInput, {DType::kInt64, {}});
  }
  return {&graph, id};
}

struct Affine {
  Var weight, bias;
};

// Weight and bias; by default both uniform up to 1 / sqrt(inputs), where
// `inputs` is what one output reads.
Affine affine(Var x, Shape weight, int64_t outputs, int64_t inputs,
              const Begin& begin, bool bias) {
  Init usual = Init::uniform(1 / std::sqrt(static_cast<double>(inputs)));
  Affine made;
  made.weight = parameter(*x.graph, "weight", x.dtype(), std::move(weight),
                          begin.weight.value_or(usual));
  if (bias) {
    made.bias = parameter(*x.graph, "bias", x.dtype(), {outputs},
                          begin.bias.value_or(usual));
  }
  return made;
}

Affine conv_weights(Var x, int64_t outputs, const Ints& kernel,
                    const ConvOptions& o) {
  int64_t channels = x.dim(1) / o.conv.groups;
  Shape shape{outputs, channels};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  int64_t inputs = channels * num_elements(kernel);
  return affine(x, shape, outputs, inputs, o.begin, o.bias);
}

}  // namespace

Var parameter(Graph& graph, std::string_view name, DType dtype, Shape shape,
              Init init) {
  return read(graph, graph.add_slot({.name = join_path(graph.path(), name),
                                     .dtype = dtype,
                                     .shape = std::move(shape),
                                     .role = Role::kParameter,
                                     .init = init}));
}

void add_name(Graph& graph, std::string_view slot, std::string second_name) {
  SlotId id = graph.find_slot(slot);
  graph.slot(id).aliases.push_back(std::move(second_name));
}

Var tied(Graph& graph, std::string_view slot, std::string second_name) {
  add_name(graph, slot, std::move(second_name));
  return read(graph, graph.find_slot(slot));
}

Var linear(Var x, int64_t outputs, std::string_view name,
           const LinearOptions& options) {
  PathScope scope(*x.graph, name);
  int64_t inputs = x.dim(-1);
  auto [w, b] = affine(x, {outputs, inputs}, outputs, inputs, options.begin,
                       options.bias);
  return braid::linear(x, w, b);
}

Var conv1d(Var x, int64_t outputs, int64_t kernel, std::string_view name,
           const ConvOptions& options) {
  PathScope scope(*x.graph, name);
  auto [w, b] = conv_weights(x, outputs, {kernel}, options);
  return braid::conv1d(x, w, b, options.conv);
}

Var conv2d(Var x, int64_t outputs, int64_t kernel, std::string_view name,
           const ConvOptions& options) {
  PathScope scope(*x.graph, name);
  auto [w, b] = conv_weights(x, outputs, {kernel, kernel}, options);
  return braid::conv2d(x, w, b, options.conv);
}

Var conv_transpose2d(Var x, int64_t outputs, int64_t kernel,
                     std::string_view name, const ConvOptions& options) {
  PathScope scope(*x.graph, name);
  int64_t each = outputs / options.conv.groups;
  // torch counts the inputs of a transposed one by the second dimension, too.
  auto [w, b] = affine(x, {x.dim(1), each, kernel, kernel}, outputs,
                       each * kernel * kernel, options.begin, options.bias);
  return braid::conv_transpose2d(x, w, b, options.conv);
}

Var batch_norm(Var x, std::string_view name, const NormOptions& options) {
  Graph& graph = *x.graph;
  PathScope scope(graph, name);
  Shape channels{x.dim(1)};
  DType dtype = x.dtype();
  Var w = parameter(graph, "weight", dtype, channels,
                    options.begin.weight.value_or(Init::constant(1)));
  Var b = parameter(graph, "bias", dtype, channels,
                    options.begin.bias.value_or(Init::constant(0)));
  SlotId mean = buffer(graph, "running_mean", dtype, channels, 0);
  SlotId var = buffer(graph, "running_var", dtype, channels, 1);
  SlotId count = buffer(graph, "num_batches_tracked", DType::kInt64, {}, 0);
  Normed normed =
      braid::batch_norm(x, w, b, read(graph, mean), read(graph, var),
                        {.momentum = options.momentum, .eps = options.eps});
  assign(mean, normed.running_mean);
  assign(var, normed.running_var);
  assign(count, add_scalar(read(graph, count), 1));
  return normed.y;
}

Var layer_norm(Var x, std::string_view name, double eps) {
  PathScope scope(*x.graph, name);
  Shape columns{x.dim(-1)};
  Var w = parameter(*x.graph, "weight", x.dtype(), columns, Init::constant(1));
  Var b = parameter(*x.graph, "bias", x.dtype(), columns, Init::constant(0));
  return braid::layer_norm(x, w, b, eps);
}

Var embedding(Var indices, int64_t entries, int64_t columns,
              std::string_view name, DType dtype,
              const EmbeddingOptions& options) {
  PathScope scope(*indices.graph, name);
  Var w = parameter(*indices.graph, "weight", dtype, {entries, columns},
                    options.begin);
  return braid::embedding(w, indices, options.padding);
}

Var first_rows(Graph& graph, int64_t length, int64_t entries, int64_t columns,
               std::string_view name, DType dtype,
               const EmbeddingOptions& options) {
  PathScope scope(graph, name);
  if (length > entries) {
    fail_usage("[model] {}: a length of {} is more than {} positions",
               graph.path(), length, entries);
  }
  Var w = parameter(graph, "weight", dtype, {entries, columns}, options.begin);
  return length == entries ? w : slice(w, 0, 0, length);
}

Var lstm(Var x, int64_t units, std::string_view name,
         const LstmOptions& options) {
  Graph& graph = *x.graph;
  PathScope scope(graph, name);
  Init init = options.begin.value_or(
      Init::uniform(1 / std::sqrt(static_cast<double>(units))));
  std::vector<Var> weights;
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    auto add = [&](const char* part, Shape shape) {
      weights.push_back(parameter(graph, fmt::format("{}_l{}", part, layer),
                                  x.dtype(), std::move(shape), init));
    };
    add("weight_ih", {4 * units, layer == 0 ? x.dim(-1) : units});
    add("weight_hh", {4 * units, units});
    add("bias_ih", {4 * units});
    add("bias_hh", {4 * units});
  }
  Recurrent call{.layers = options.layers, .batch_first = true};
  if (options.dropout > 0 && options.layers > 1) {
    call.dropout = draw(graph, options.dropout);
  }
  return braid::lstm(x, {}, {}, weights, call).y;
}

Draw draw(Graph& graph, double p) {
  std::string name = passes::hyper_slot(graph.path() + ".p");
  for (int n = 2;; ++n) {
    SlotId known = graph.find_slot(name);
    if (known == kNone || graph.slot(known).init == Init::constant(p)) break;
    name = passes::hyper_slot(fmt::format("{}.p{}", graph.path(), n));
  }
  return draw_at(scalar(graph, name, DType::kFloat64, Role::kHyper,
                        SlotUse::kDropoutRate, p));
}

Draw draw_at(Var rate) {
  Graph& graph = *rate.graph;
  Var seed = scalar(graph, passes::kSeedSlot, DType::kInt64, Role::kCounter,
                    SlotUse::kSeed, 0);
  Var step = scalar(graph, passes::kStepSlot, DType::kInt64, Role::kCounter,
                    SlotUse::kStep, 0);
  return {rate, seed, step, micro_index(graph)};
}

Var dropout(Var x, double p, std::string_view name) {
  if (p <= 0) return x;
  PathScope scope(*x.graph, name);
  return braid::dropout(x, draw(*x.graph, p));
}

}  // namespace braid::models
