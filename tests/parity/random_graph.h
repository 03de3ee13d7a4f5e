// Random training graphs, each said twice: with Braid's builders and with
// libtorch. A graph is a list of givens (parameters, inputs, buffers) and
// steps over what came before, so it can be built, run and cut down at will.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "braid/ops/core/op.h"
#include "row.h"

namespace braid::parity {

using Vars = std::vector<Var>;
using Ours = std::function<Vars(const Vars&)>;
using Theirs = std::function<Tensors(const Tensors&)>;

// What a graph begins with.
struct Given {
  enum class Kind { kParameter, kFrozen, kInput, kBuffer };
  std::string name = {};
  Kind kind = Kind::kParameter;
  ValueType type = {};
  bool shared = false;   // an input that all members share
  int64_t limit = 0;     // of an index
  bool ordered = false;  // an index: a permutation along dimension 0
  double least = 0;      // positive: uniform from here to least + 1
};

// One move: results of earlier values.
struct Step {
  std::string name;
  std::vector<size_t> operands;  // numbers of values
  Ours ours;
  Theirs theirs;
  std::vector<ValueType> types = {};  // of the results
};

struct RandomGraph {
  DType dtype = DType::kFloat64;
  std::vector<std::variant<Given, Step>> items;  // values are counted along
  std::vector<std::pair<std::string, size_t>> outputs;  // "loss" is one
  size_t steps_per_layer = 4;
};

// The same graph for the same seed.
RandomGraph make_random_graph(uint64_t seed, DType dtype);

// Contents of the givens, in order. With a nudge each float of libtorch's
// inputs is moved by 8 ulp.
Tensors given_tensors(const RandomGraph& graph, int64_t member,
                      uint64_t nudge = 0);

// Throws when Braid types a result otherwise than libtorch.
Graph build_graph(const OpTable& ops, const RandomGraph& graph);

// By name: outputs, "grad/NAME" of parameters, "slot/NAME" of buffers.
using Found = std::map<std::string, at::Tensor>;
Found run_libtorch(const RandomGraph& graph, const Tensors& givens);

// The same graph without what its outputs do not need.
RandomGraph without_unused(const RandomGraph& graph);

}  // namespace braid::parity
