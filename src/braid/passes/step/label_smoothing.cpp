#include "braid/passes/step/label_smoothing.h"

#include <algorithm>

#include "braid/graph/copy.h"
#include "braid/graph/var.h"
#include "braid/passes/names.h"

namespace braid::passes {
namespace {

constexpr const char* kName = "label_smoothing";
constexpr size_t kOperand = 3;

bool is_constant(const Node& node) {
  return node.is(OpKind::kCrossEntropy) &&
         (node.inputs.size() <= kOperand || node.inputs[kOperand] == kNone);
}

// Losses of one layer are counted, whatever their values are: members of an
// array have the same names.
std::string free_name(const Graph& graph, const std::string& path) {
  std::string first =
      hyper_slot(path.empty() ? kName : fmt::format("{}.{}", path, kName));
  std::string name = first;
  for (int n = 2; graph.find_slot(name) != kNone; ++n) {
    name = fmt::format("{}{}", first, n);
  }
  return name;
}

void add_free(GraphCopy& copy, const Node& node) {
  copy.to.continue_at(node);
  double before = node.attrs.number_or(kName, 0);
  SlotId slot = copy.to.add_slot({.name = free_name(copy.to, node.path),
                                  .dtype = DType::kFloat64,
                                  .role = Role::kHyper,
                                  .use = SlotUse::kLabelSmoothing,
                                  .init = Init::constant(before)});
  std::vector<ValueId> inputs = copy.inputs_of(node);
  inputs.resize(kOperand + 1, kNone);
  inputs[kOperand] = read(copy.to, slot).id;
  Node free = node;
  free.attrs.erase(kName);
  copy.add(free, std::move(inputs));
}

}  // namespace

Graph free_label_smoothing(const Graph& forward) {
  if (std::ranges::none_of(forward.nodes(), is_constant)) return forward;
  GraphCopy copy(forward);
  copy.add_slots();
  copy.add_inputs();
  for (const Node& node : forward.nodes()) {
    is_constant(node) ? add_free(copy, node) : copy.add(node);
  }
  copy.add_outputs();
  return std::move(copy.to);
}

}  // namespace braid::passes
