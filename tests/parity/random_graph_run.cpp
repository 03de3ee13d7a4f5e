// Random graphs as tensors: their contents, Braid's graph, libtorch's run.
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/rng.h"
#include "braid/runtime/kernels/aten/bind.h"
#include "random_graph.h"
#include "random_tensors.h"

namespace braid::parity {

at::ScalarType float_type(DType dtype) { return runtime::scalar_type(dtype); }

ValueType type_of(const at::Tensor& tensor) {
  for (DType dtype : {DType::kFloat64, DType::kFloat32, DType::kInt64,
                      DType::kInt32, DType::kBool}) {
    if (runtime::scalar_type(dtype) == tensor.scalar_type()) {
      return {dtype, tensor.sizes().vec()};
    }
  }
  fail_usage("[random graph] no type for {}",
             at::toString(tensor.scalar_type()));
}

at::Tensor given_tensor(const Given& given, int64_t member, uint64_t nudge) {
  uint64_t owner = given.shared ? 0 : static_cast<uint64_t>(member) + 1;
  at::Generator random =
      at::detail::createCPUGenerator(mix_bits(stable_hash(given.name), owner));
  const Shape& shape = given.type.shape;
  auto options = at::TensorOptions(at::kDouble);
  if (given.ordered) return at::randperm(shape[0], random, at::kLong);
  if (given.limit > 0) {
    return at::randint(given.limit, shape, random, options.dtype(at::kLong));
  }
  if (given.type.dtype == DType::kBool) {
    return at::rand(shape, random, options) < 0.5;
  }
  at::Tensor x = given.least > 0
                     ? at::rand(shape, random, options) + given.least
                     : at::randn(shape, random, options);
  x = x.to(runtime::scalar_type(given.type.dtype));
  if (nudge == 0) return x;
  double ulp = given.type.dtype == DType::kFloat64 ? 0x1p-52 : 0x1p-23;
  at::Generator signs = at::detail::createCPUGenerator(
      mix_bits(stable_hash(given.name), nudge << 8));
  at::Tensor sign = at::randint(2, shape, signs, options) * 2 - 1;
  return x * (1 + 8 * ulp * sign.to(x.scalar_type()));
}

Tensors given_tensors(const RandomGraph& graph, int64_t member,
                      uint64_t nudge) {
  Tensors tensors;
  for (const auto& item : graph.items) {
    const Given* given = std::get_if<Given>(&item);
    if (given) tensors.push_back(given_tensor(*given, member, nudge));
  }
  return tensors;
}

namespace {

Var build_given(Graph& graph, const Given& given) {
  if (given.kind == Given::Kind::kInput) {
    return input(graph, given.name, given.type);
  }
  bool buffer = given.kind == Given::Kind::kBuffer;
  SlotId slot =
      graph.add_slot({.name = given.name,
                      .dtype = given.type.dtype,
                      .shape = given.type.shape,
                      .role = buffer ? Role::kBuffer : Role::kParameter,
                      .trainable = given.kind == Given::Kind::kParameter});
  return read(graph, slot);
}

void check_types(const Step& step, const Vars& results) {
  bool same = results.size() == step.types.size();
  for (size_t i = 0; same && i < results.size(); ++i) {
    same = results[i].type() == step.types[i];
  }
  if (same) return;
  std::string text;
  for (const Var& v : results) {
    text += fmt::format(" {}{}", dtype_name(v.dtype()), shape_text(v.shape()));
  }
  text += ", not";
  for (const ValueType& t : step.types) {
    text += fmt::format(" {}{}", dtype_name(t.dtype), shape_text(t.shape));
  }
  fail_usage("[random graph] '{}' yields{}", step.name, text);
}

// A parameter that a later layer uses is sometimes read there anew.
Var operand(Var v, size_t turn) {
  NodeId producer = v.graph->value(v.id).producer;
  if (producer == kNone || turn % 3 != 0) return v;
  const Node& node = v.graph->node(producer);
  bool again = node.op->name == "read" &&
               v.graph->slot(node.slot).role == Role::kParameter &&
               node.path != v.graph->path();
  return again ? read(*v.graph, node.slot) : v;
}

}  // namespace

Graph build_graph(const OpTable& ops, const RandomGraph& from) {
  Graph graph(ops);
  Vars values;
  size_t turn = 0;
  for (const auto& item : from.items) {
    graph.set_path(fmt::format("layers.{}", turn / from.steps_per_layer));
    if (const Given* given = std::get_if<Given>(&item)) {
      values.push_back(build_given(graph, *given));
      continue;
    }
    const Step& step = std::get<Step>(item);
    Vars operands;
    for (size_t id : step.operands) {
      operands.push_back(operand(values[id], turn + id));
    }
    Vars results = step.ours(operands);
    check_types(step, results);
    values.insert(values.end(), results.begin(), results.end());
    ++turn;
  }
  for (const auto& [name, id] : from.outputs) {
    graph.add_output(name, values[id].id);
  }
  return graph;
}

Found run_libtorch(const RandomGraph& graph, const Tensors& givens) {
  Tensors values, leaves;
  for (const auto& item : graph.items) {
    if (const Given* given = std::get_if<Given>(&item)) {
      leaves.push_back(givens[leaves.size()].detach().clone());
      if (given->kind == Given::Kind::kParameter) {
        leaves.back().set_requires_grad(true);
      }
      values.push_back(leaves.back());
      continue;
    }
    const Step& step = std::get<Step>(item);
    Tensors operands;
    for (size_t id : step.operands) operands.push_back(values[id]);
    Tensors results = step.theirs(operands);
    values.insert(values.end(), results.begin(), results.end());
  }
  Found found;
  for (const auto& [name, id] : graph.outputs) {
    found[name] = values[id].detach().clone();
    if (name == "loss" && values[id].requires_grad()) values[id].backward();
  }
  size_t place = 0;
  for (const auto& item : graph.items) {
    const Given* given = std::get_if<Given>(&item);
    if (!given) continue;
    const at::Tensor& leaf = leaves[place++];
    if (given->kind == Given::Kind::kParameter) {
      found["grad/" + given->name] =
          leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf.detach());
    } else if (given->kind == Given::Kind::kBuffer) {
      found["slot/" + given->name] = leaf;
    }
  }
  return found;
}

RandomGraph without_unused(const RandomGraph& graph) {
  std::vector<size_t> first;  // value of each item
  size_t num_values = 0;
  for (const auto& item : graph.items) {
    const Step* step = std::get_if<Step>(&item);
    first.push_back(num_values);
    num_values += step ? step->types.size() : 1;
  }
  std::vector<bool> used(num_values + 1, false);
  for (const auto& [name, id] : graph.outputs) used[id] = true;
  std::vector<bool> keep(graph.items.size());
  for (size_t i = graph.items.size(); i-- > 0;) {
    const Step* step = std::get_if<Step>(&graph.items[i]);
    size_t count = step ? step->types.size() : 1;
    for (size_t k = 0; k < count; ++k) keep[i] = keep[i] || used[first[i] + k];
    if (!step || !keep[i]) continue;
    for (size_t id : step->operands) used[id] = true;
  }
  RandomGraph next{graph.dtype, {}, {}, graph.steps_per_layer};
  std::vector<size_t> moved(num_values, 0);
  size_t count = 0;
  for (size_t i = 0; i < graph.items.size(); ++i) {
    if (!keep[i]) continue;
    auto item = graph.items[i];
    Step* step = std::get_if<Step>(&item);
    for (size_t k = 0; k < (step ? step->types.size() : 1); ++k) {
      moved[first[i] + k] = count++;
    }
    if (step) {
      for (size_t& id : step->operands) id = moved[id];
    }
    next.items.push_back(std::move(item));
  }
  for (const auto& [name, id] : graph.outputs) {
    next.outputs.push_back({name, moved[id]});
  }
  return next;
}

}  // namespace braid::parity
