#include "braid/train/array/index_ranges.h"

#include <algorithm>
#include <array>

namespace braid::train {

IndexRange both(const IndexRange& a, const IndexRange& b) {
  return {std::min(a.size, b.size),
          a.ignored == b.ignored ? a.ignored : std::nullopt};
}

ValueId input_behind(const Graph& graph, ValueId id) {
  constexpr std::array kViews{OpKind::kReshape, OpKind::kView, OpKind::kCopy,
                              OpKind::kSlice, OpKind::kPermute};
  while (graph.value(id).producer != kNone) {
    const Node& node = graph.node(graph.value(id).producer);
    if (std::ranges::find(kViews, node.op->kind) == kViews.end()) return kNone;
    id = node.inputs[0];
  }
  return id;
}

std::map<std::string, IndexRange> index_ranges(const Graph& forward) {
  std::map<std::string, IndexRange> ranges;
  for (const Node& node : forward.nodes()) {
    bool is_loss = node.op->is_class_loss();
    if (!is_loss && !node.is(OpKind::kEmbedding)) continue;
    ValueId input = input_behind(forward, node.inputs[1]);
    if (input == kNone) continue;
    const Value& value = forward.value(input);
    if (is_floating(value.type.dtype)) continue;
    const Shape& table = forward.value(node.inputs[0]).type.shape;
    IndexRange range{is_loss ? table.back() : table.front(), {}};
    if (is_loss) range.ignored = node.attrs.integer_or("ignore_index", -100);
    auto [known, is_new] = ranges.emplace(value.name, range);
    if (!is_new) known->second = both(known->second, range);
  }
  return ranges;
}

}  // namespace braid::train
