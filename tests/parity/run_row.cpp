#include "run_row.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "braid/ops/build/functions.h"
#include "braid/runtime/kernels/aten/bind.h"
#include "from_bytes.h"
#include "op_table.h"

namespace braid::parity {
namespace {

std::string input_name(size_t i) { return fmt::format("in{}", i); }

bool is_float(const Arg& arg) {
  return arg.kind != Arg::Kind::kIndex && arg.kind != Arg::Kind::kBool &&
         arg.kind != Arg::Kind::kMissing;
}

// A result without a gradient beside a loss that has nothing to do with it.
Graph forward_only(Graph graph, Var y, DType dtype) {
  y.graph = &graph;
  graph.add_output("y", apply("copy", {y}).id);
  Var unused = read(graph, graph.add_slot({.name = "unused", .dtype = dtype}));
  graph.add_output("loss", mul(unused, unused).id);
  return graph;
}

// loss = sum(y * weights), y as an output of its own.
Graph build_graph(const OpTable& ops, const Row& row, DType dtype) {
  Graph graph(ops);
  std::vector<Var> inputs;
  for (size_t i = 0; i < row.args.size(); ++i) {
    const Arg& arg = row.args[i];
    if (arg.kind == Arg::Kind::kMissing) {
      inputs.push_back({});
    } else if (is_float(arg)) {
      inputs.push_back(read(graph, graph.add_slot({.name = input_name(i),
                                                   .dtype = dtype,
                                                   .shape = arg.shape})));
    } else {
      DType type = arg.kind == Arg::Kind::kBool ? DType::kBool : DType::kInt64;
      inputs.push_back(input(graph, input_name(i), {type, arg.shape}));
    }
  }
  Var y = row.build ? row.build(inputs) : apply(row.op, inputs, row.attrs);
  bool learns = std::any_of(row.args.begin(), row.args.end(), is_float);
  if (!learns || !is_floating(y.dtype())) {
    return forward_only(std::move(graph), y, dtype);
  }
  Var weights = input(graph, "weights", {y.dtype(), y.shape()});
  Ints dims;
  for (int64_t d = 0; d < y.rank(); ++d) dims.push_back(d);
  graph.add_output("y", apply("copy", {y}).id);
  graph.add_output("loss", sum(mul(y, weights), dims).id);
  return graph;
}

// All members of a tensor side by side.
at::Tensor stacked(const std::vector<Tensors>& inputs, size_t i,
                   bool as_array) {
  if (!as_array) return inputs[0][i].contiguous();
  std::vector<at::Tensor> parts;
  for (const Tensors& one : inputs) parts.push_back(one[i]);
  return at::stack(parts);
}

// Multiples of 1/2 in [-2, 2], beyond them infinities and NaN when wanted.
at::Tensor stepped(const Arg& arg, at::Generator random) {
  bool special = arg.kind == Arg::Kind::kSpecial;
  at::Tensor x = at::randint(special ? -7 : -4, special ? 7 : 5, arg.shape,
                             random, at::TensorOptions(at::kDouble));
  constexpr double kInf = std::numeric_limits<double>::infinity();
  at::Tensor edges = at::where(x > 4, kInf, at::where(x < -5, NAN, -kInf));
  return at::where(x.abs() > 4, edges, x / 2);
}

}  // namespace

Tensors random_inputs(const Row& row, DType dtype, int64_t seed) {
  at::Generator random =
      at::detail::createCPUGenerator(static_cast<uint64_t>(seed) + 1);
  Tensors inputs;
  for (const Arg& arg : row.args) {
    auto options = at::TensorOptions(at::kDouble);
    switch (arg.kind) {
      case Arg::Kind::kFloat:
        inputs.push_back(at::randn(arg.shape, random, options));
        break;
      case Arg::Kind::kPositive:
        inputs.push_back(at::rand(arg.shape, random, options) + 0.5);
        break;
      case Arg::Kind::kIndex:
        inputs.push_back(at::randint(arg.limit, arg.shape, random,
                                     options.dtype(at::kLong)));
        break;
      case Arg::Kind::kBool:
        inputs.push_back(at::rand(arg.shape, random, options) < 0.6);
        break;
      case Arg::Kind::kSteps:
      case Arg::Kind::kSpecial: inputs.push_back(stepped(arg, random)); break;
      case Arg::Kind::kMissing: inputs.emplace_back(); break;
    }
    if (is_float(arg)) {
      inputs.back() = inputs.back().to(runtime::scalar_type(dtype));
    }
  }
  return inputs;
}

at::Tensor random_weights(const Row& row, const Tensors& inputs) {
  at::Tensor y = row.reference(inputs);
  if (!y.is_floating_point()) return at::zeros(y.sizes());
  at::Generator random = at::detail::createCPUGenerator(7);
  return at::randn(y.sizes(), random, at::TensorOptions(at::kDouble))
      .to(y.scalar_type());
}

Results run_reference(const Row& row, const Tensors& inputs) {
  Tensors leaves;
  for (const at::Tensor& t : inputs) {
    leaves.push_back(t.defined() ? t.detach().clone() : t);
    if (t.defined() && t.is_floating_point()) {
      leaves.back().set_requires_grad(true);
    }
  }
  at::Tensor y = row.reference(leaves);
  if (y.requires_grad()) {
    (y * random_weights(row, inputs).to(y.device())).sum().backward();
  }
  Results results{{"y", y.detach()}};
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i].defined() || !leaves[i].is_floating_point()) continue;
    at::Tensor grad = leaves[i].grad();
    results[input_name(i)] = grad.defined() ? grad : at::zeros_like(inputs[i]);
  }
  return results;
}

namespace {

train::TrainerOptions options_for(size_t members, bool as_array,
                                  DType precision,
                                  std::optional<Lowering> lowering) {
  train::TrainerOptions options{.optimizer = passes::make_optimizer("sgd")};
  options.optimizer.hyper["lr"] = 0;
  options.members = as_array ? static_cast<int64_t>(members) : 0;
  options.precision = precision;
  options.lowering = lowering;
  return options;
}

}  // namespace

PreparedRow::PreparedRow(const Row& row, const std::vector<Tensors>& like,
                         DType dtype, runtime::Backend& backend, bool as_array,
                         DType precision, std::optional<Lowering> lowering)
    : row_(row),
      as_array_(as_array),
      trainer_(table(), build_graph(table(), row, dtype), backend,
               options_for(like.size(), as_array, precision, lowering)) {
  at::Tensor weights = random_weights(row, like[0]);
  feeds_["weights"] =
      as_array ? at::stack(std::vector<at::Tensor>(like.size(), weights))
               : weights.contiguous();
}

void PreparedRow::write(const std::vector<Tensors>& inputs) {
  for (size_t i = 0; i < row_.args.size(); ++i) {
    if (row_.args[i].kind == Arg::Kind::kMissing) continue;
    at::Tensor all = stacked(inputs, i, as_array_);
    SlotId slot = trainer_.state().find(input_name(i));
    if (slot == kNone) {
      feeds_[input_name(i)] = all;
    } else {
      auto* data = static_cast<const std::byte*>(all.data_ptr());
      trainer_.state().write(slot, {data, all.nbytes()});
    }
  }
}

std::vector<Results> PreparedRow::run(const std::vector<Tensors>& inputs) {
  write(inputs);
  std::vector<Results> results(inputs.size());
  auto split = [&](const std::string& name, const at::Tensor& all) {
    for (size_t m = 0; m < results.size(); ++m) {
      results[m][name] =
          (as_array_ ? all.select(0, static_cast<int64_t>(m)) : all).clone();
    }
  };
  for (size_t i = 0; i < row_.args.size(); ++i) {
    if (is_float(row_.args[i])) {
      split(input_name(i), at::zeros_like(stacked(inputs, i, as_array_)));
    }
  }
  trainer_.executor().tap_gradients(
      [&](SlotId slot, std::span<const std::byte> bytes) {
        const Slot& s = trainer_.state().slots()[static_cast<size_t>(slot)];
        if (s.name != "unused") {
          split(s.name, from_bytes(bytes, s.stored_shape(), s.dtype));
        }
      });
  trainer_.step([&](int64_t, ValueId id) {
    const at::Tensor& t = feeds_.at(trainer_.graph().value(id).name);
    return static_cast<const std::byte*>(t.data_ptr());
  });
  ValueId y = trainer_.graph().find_output("y");
  split("y", from_bytes(trainer_.executor().output("y"),
                        trainer_.graph().value(y).type.shape,
                        trainer_.graph().value(y).type.dtype));
  return results;
}

std::vector<Results> run_braid(const Row& row,
                               const std::vector<Tensors>& inputs, DType dtype,
                               runtime::Backend& backend, bool as_array,
                               DType precision,
                               std::optional<Lowering> lowering) {
  return PreparedRow(row, inputs, dtype, backend, as_array, precision, lowering)
      .run(inputs);
}

std::set<std::string> ops_of(const OpTable& ops, const Row& row) {
  std::set<std::string> names;
  Graph graph = build_graph(ops, row, DType::kFloat64);
  for (const Node& node : graph.nodes()) names.insert(node.op->name);
  return names;
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  if (b.numel() == 0) return 0;
  at::Tensor x = a.to(at::kDouble), y = b.to(at::kDouble);
  // NaNs and infinities must stand at the same places.
  at::Tensor same = x.eq(y).logical_or_(x.isnan().logical_and_(y.isnan()));
  double scale = y.abs().masked_fill(~y.isfinite(), 0).max().item<double>();
  double error = (x - y).abs().masked_fill(same, 0).max().item<double>();
  return error / std::max(scale, 1e-3);
}

}  // namespace braid::parity
