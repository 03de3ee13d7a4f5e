#include "braid/io/pt2/autocast.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace braid::io::pt2 {
namespace {

using Kind = Argument::Kind;

bool is_narrow(DType dtype) {
  return dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

// "torch.ops.aten.addmm_.default" -> "addmm"
std::string_view name_of(std::string_view target) {
  constexpr std::string_view kAten = "torch.ops.aten.";
  if (!target.starts_with(kAten)) return {};
  target.remove_prefix(kAten.size());
  target = target.substr(0, target.find('.'));
  if (target.ends_with('_')) target.remove_suffix(1);
  return target;
}

// What autocast makes narrow, also inside of operators made of several.
bool is_product(std::string_view name) {
  static const std::set<std::string_view> names{"linear",
                                                "matmul",
                                                "mm",
                                                "bmm",
                                                "mv",
                                                "dot",
                                                "addmm",
                                                "addmv",
                                                "addr",
                                                "baddbmm",
                                                "addbmm",
                                                "einsum",
                                                "tensordot",
                                                "inner",
                                                "chain_matmul",
                                                "bilinear",
                                                "linalg_multi_dot",
                                                "linalg_vecdot",
                                                "conv1d",
                                                "conv2d",
                                                "conv3d",
                                                "conv_tbc",
                                                "convolution",
                                                "conv_transpose1d",
                                                "prelu",
                                                "conv_transpose2d",
                                                "conv_transpose3d",
                                                "lstm",
                                                "lstm_cell",
                                                "scaled_dot_product_attention",
                                                "gru",
                                                "gru_cell",
                                                "rnn_tanh",
                                                "rnn_tanh_cell",
                                                "rnn_relu",
                                                "rnn_relu_cell"};
  return names.contains(name);
}

// Operators that are asked for a type say themselves what they do.
bool is_conversion(std::string_view name) {
  static const std::set<std::string_view> names{"to", "_to_copy", "type_as",
                                                "copy", "view"};
  return names.contains(name);
}

std::optional<DType> type_of(const Argument& argument,
                             const ExportedGraph& graph) {
  auto meta = graph.tensors.find(argument.text);
  if (argument.kind != Kind::kTensor || meta == graph.tensors.end()) {
    return std::nullopt;
  }
  return exported_dtype(meta->second.type);
}

void add_types(const Argument& argument, const ExportedGraph& graph,
               std::set<DType>& types) {
  for (const Argument& item : argument.list) add_types(item, graph, types);
  std::optional<DType> type = type_of(argument, graph);
  bool may_be_cast = type && is_floating(*type) && *type != DType::kFloat64;
  if (may_be_cast) types.insert(*type);
}

std::optional<DType> result_type(const ExportedNode& node,
                                 const ExportedGraph& graph) {
  if (node.outputs.empty()) return std::nullopt;
  const Argument* first = &node.outputs[0];
  if (first->kind == Kind::kList && !first->list.empty()) {
    first = &first->list[0];
  }
  return type_of(*first, graph);
}

}  // namespace

WorkTypes work_types(const ExportedNode& node, const ExportedGraph& graph) {
  std::string_view name = name_of(node.target);
  std::optional<DType> result = result_type(node, graph);
  if (!result || name.empty() || is_conversion(name)) return {};
  std::set<DType> types;
  for (const NamedArgument& input : node.inputs) {
    add_types(input.value, graph, types);
  }
  bool takes_narrow = std::ranges::any_of(types, is_narrow);
  bool takes_others = types.size() > (types.contains(*result) ? 1u : 0u);
  if (*result == DType::kFloat32 && takes_narrow) return {DType::kFloat32};
  if (!is_narrow(*result) || !takes_others) return {};
  if (is_product(name)) return {*result};
  // Norms of narrow values with wide weights and statistics work wide.
  if (name.ends_with("_norm")) return {DType::kFloat32, *result};
  return {};
}

}  // namespace braid::io::pt2
