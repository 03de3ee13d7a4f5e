// Array pass: a graph of one model becomes a graph of B members.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "braid/ops/core/lowering.h"
#include "braid/ops/core/op.h"

namespace braid::passes {

// Seconds of forward and gradients of a convolution of B members.
using LoweringSeconds =
    std::function<double(const NodeView& one, int64_t members, Lowering)>;

struct ArrayPassOptions {
  int64_t members = 1;  // B
  // Inputs that all members share; the others get a leading axis of B.
  std::vector<std::string> shared_inputs = {};
  // What the choice among lowerings goes by; empty: lowering_seconds().
  LoweringSeconds seconds = {};
  int threads = 1;  // that lowering_seconds() counts with
  // For every convolution that it fits; others are computed as grouped.
  std::optional<Lowering> lowering = {};
};

// A value that is brought from one layout to another: a copy of all members.
struct Relayout {
  ValueId value = kNone;  // of one model
  MemberAxis to = MemberAxis::kLeading;
  int64_t bytes = 0;
  std::string path;  // of the node that wants it there
};

// What became of one model; indices are those of its graph.
struct ArrayPassReport {
  std::vector<MemberAxis> axes;  // by value
  // By node: how it is computed, when it is a convolution.
  std::vector<std::optional<Lowering>> lowerings;
  std::vector<bool> dense;  // by node: one convolution for all members
  std::vector<Relayout> relayouts;
};

struct ArrayResult {
  Graph graph;
  ArrayPassReport report;
};

// Every slot gets an axis of B; values that depend on no member stay single;
// outputs lead with B. Runs before autodiff, which then sees ordinary ops.
// The same arguments give the same graph.
Graph array(const OpTable& ops, const Graph& one,
            const ArrayPassOptions& options);

// The same and what was chosen.
ArrayResult array_reported(const OpTable& ops, const Graph& one,
                           const ArrayPassOptions& options);

// The same with lowerings given, by node of `one`.
ArrayResult array_with(const OpTable& ops, const Graph& one,
                       const ArrayPassOptions& options,
                       const std::vector<Lowering>& lowerings);

}  // namespace braid::passes
