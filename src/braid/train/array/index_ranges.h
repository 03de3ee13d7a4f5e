// Inputs of a model that hold indices: classes and tokens.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "braid/graph/graph.h"

namespace braid::train {

// Indices are from 0 to size - 1, or the ignored one.
struct IndexRange {
  int64_t size = 0;
  std::optional<int64_t> ignored = {};
};

// What lies in both ranges.
IndexRange both(const IndexRange& a, const IndexRange& b);

// By the name of the input. One that several nodes read has to suit them all.
std::map<std::string, IndexRange> index_ranges(const Graph& forward);

// The input that a value is a view of; kNone when it is none.
ValueId input_behind(const Graph& graph, ValueId value);

}  // namespace braid::train
