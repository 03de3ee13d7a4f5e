#include "braid/models/layers.h"

#include <cmath>

#include "braid/base/error.h"
#include "braid/passes/names.h"

namespace braid::models {
namespace {

Var parameter(Graph& graph, std::string_view name, DType dtype, Shape shape,
              Init init) {
  return read(graph, graph.add_slot({.name = join_path(graph.path(), name),
                                     .dtype = dtype,
                                     .shape = std::move(shape),
                                     .role = Role::kParameter,
                                     .init = init}));
}

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
           double value) {
  SlotId id = graph.find_slot(name);
  if (id == kNone) {
    id = graph.add_slot({.name = name,
                         .dtype = dtype,
                         .shape = {},
                         .role = role,
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

}  // namespace

Var linear(Var x, int64_t outputs, std::string_view name, bool bias) {
  PathScope scope(*x.graph, name);
  int64_t inputs = x.dim(-1);
  Init init = Init::uniform(1 / std::sqrt(static_cast<double>(inputs)));
  Var w = parameter(*x.graph, "weight", x.dtype(), {outputs, inputs}, init);
  Var b =
      bias ? parameter(*x.graph, "bias", x.dtype(), {outputs}, init) : Var{};
  return braid::linear(x, w, b);
}

Var conv2d(Var x, int64_t outputs, int64_t kernel, std::string_view name,
           int64_t stride, int64_t padding, bool bias) {
  PathScope scope(*x.graph, name);
  Shape shape{outputs, x.dim(1), kernel, kernel};
  auto fan = static_cast<double>(x.dim(1) * kernel * kernel);
  Init init = Init::uniform(1 / std::sqrt(fan));
  Var w = parameter(*x.graph, "weight", x.dtype(), shape, init);
  Var b =
      bias ? parameter(*x.graph, "bias", x.dtype(), {outputs}, init) : Var{};
  return braid::conv2d(
      x, w, b, {.stride = {stride, stride}, .padding = {padding, padding}});
}

Var batch_norm(Var x, std::string_view name, double momentum, double eps) {
  Graph& graph = *x.graph;
  PathScope scope(graph, name);
  Shape channels{x.dim(1)};
  DType dtype = x.dtype();
  Var w = parameter(graph, "weight", dtype, channels, Init::constant(1));
  Var b = parameter(graph, "bias", dtype, channels, Init::constant(0));
  SlotId mean = buffer(graph, "running_mean", dtype, channels, 0);
  SlotId var = buffer(graph, "running_var", dtype, channels, 1);
  SlotId count = buffer(graph, "num_batches_tracked", DType::kInt64, {}, 0);
  auto outputs =
      apply_all("batch_norm", {x, w, b, read(graph, mean), read(graph, var)},
                {{"training", true}, {"momentum", momentum}, {"eps", eps}});
  assign(mean, outputs[3]);
  assign(var, outputs[4]);
  assign(count, add_scalar(read(graph, count), 1));
  return outputs[0];
}

Var layer_norm(Var x, std::string_view name, double eps) {
  PathScope scope(*x.graph, name);
  Shape columns{x.dim(-1)};
  Var w = parameter(*x.graph, "weight", x.dtype(), columns, Init::constant(1));
  Var b = parameter(*x.graph, "bias", x.dtype(), columns, Init::constant(0));
  return braid::layer_norm(x, w, b, eps);
}

Var embedding(Var indices, int64_t entries, int64_t columns,
              std::string_view name, DType dtype) {
  PathScope scope(*indices.graph, name);
  Var w = parameter(*indices.graph, "weight", dtype, {entries, columns},
                    Init::normal(1));
  return braid::embedding(w, indices);
}

Var position_table(Graph& graph, DType dtype, int64_t length, int64_t columns,
                   std::string_view name) {
  return parameter(graph, name, dtype, {length, columns}, Init::normal(0.02));
}

Draw draw(Graph& graph, double p) {
  std::string name = passes::hyper_slot(graph.path() + ".p");
  for (int n = 2;; ++n) {
    SlotId known = graph.find_slot(name);
    if (known == kNone || graph.slot(known).init == Init::constant(p)) break;
    name = passes::hyper_slot(fmt::format("{}.p{}", graph.path(), n));
  }
  Var rate = scalar(graph, name, DType::kFloat64, Role::kHyper, p);
  Var seed = scalar(graph, passes::kSeedSlot, DType::kInt64, Role::kCounter, 0);
  Var step = scalar(graph, passes::kStepSlot, DType::kInt64, Role::kCounter, 0);
  return {rate, seed, step, micro_index(graph)};
}

Var dropout(Var x, double p, std::string_view name) {
  PathScope scope(*x.graph, name);
  return braid::dropout(x, draw(*x.graph, p));
}

}  // namespace braid::models
