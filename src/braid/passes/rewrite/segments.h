// Segments: the units that a plan decides about. A segment is a layer of the
// model: the layer path up to its first number ("model.blocks.3"), or without
// one its first part. A part that all paths begin with does not count. Nodes
// outside any layer belong to the one before. Rules cut finer, or join layers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "braid/graph/graph.h"

namespace braid::passes {

// What a plan asks of its segments. Layers are named by patterns, see
// layer_length().
struct SegmentRules {
  // A layer inside a segment becomes one of its own.
  std::vector<std::string> cuts = {};
  // Layers that follow each other become one, with the name of the first; a
  // list of patterns for each.
  std::vector<std::vector<std::string>> joined = {};

  bool operator==(const SegmentRules&) const = default;
};

// Length of the beginning of a path that a pattern names: parts that fit it,
// after any others. "layers.*.mlp" names the first 18 letters of
// "model.layers.3.mlp.fc1". 0: it names no layer on this path.
size_t layer_length(std::string_view path, std::string_view pattern);

// Marks every node of a forward graph with its segment; later passes carry
// the marks along. Returns the names in order. Throws for layers to be joined
// that do not follow each other.
std::vector<std::string> mark_segments(Graph& forward,
                                       const SegmentRules& rules = {});

}  // namespace braid::passes
