#include "braid/io/pt2/complex_rules.h"

#include <set>

namespace braid::io::pt2 {
namespace {

using Kind = Argument::Kind;

}  // namespace

bool is_linear(std::string_view name) {
  static const std::set<std::string_view> names{
      "view",          "reshape",
      "flatten",       "unflatten",
      "unsqueeze",     "squeeze",
      "permute",       "transpose",
      "expand",        "slice",
      "select",        "unbind",
      "split",         "chunk",
      "narrow",        "alias",
      "detach",        "detach_",
      "clone",         "contiguous",
      "cat",           "stack",
      "add",           "sub",
      "neg",           "sum",
      "flip",          "roll",
      "copy",          "select_scatter",
      "repeat",        "view_as",
      "reshape_as",    "expand_as",
      "slice_scatter", "t",
      "numpy_T",       "swapaxes",
      "movedim",       "split_with_sizes",
      "resolve_conj",  "resolve_neg",
      "zeros_like",    "empty_like",
      "ones_like",     "full_like",
      "new_zeros",     "new_ones",
      "new_empty",     "new_full"};
  return names.contains(name);
}

bool keeps_values(const RuleContext& c) {
  if (c.name() == "_assert_tensor_metadata") return true;
  const TensorMeta *from = c.meta_of("self"), *to = c.meta_of_result(0);
  return c.name() == "to" && from && to && from->type == to->type;
}

bool takes_complex(RuleContext& c) {
  bool any = false;
  for (const NamedArgument& argument : c.node().inputs) {
    if (argument.value.kind == Kind::kTensor) {
      any = any || is_complex(c.read(argument.value).dtype());
    }
    for (const Argument& entry : argument.value.list) {
      if (entry.kind != Kind::kTensor) continue;
      any = any || is_complex(c.read(entry).dtype());
    }
  }
  return any;
}

}  // namespace braid::io::pt2
