#include "braid/plan/call_signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace braid::plan {
namespace {

void append(std::string& text, const Graph& graph, ValueId id) {
  if (id == kNone) {
    text += " _";
    return;
  }
  const Value& v = graph.value(id);
  fmt::format_to(std::back_inserter(text), " {}[{}]/{}",
                 dtype_name(v.type.dtype), fmt::join(v.type.shape, ","),
                 fmt::join(v.strides, ","));
}

struct Printer {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return fmt::format("{}", v); }
  std::string operator()(const std::string& v) const { return v; }
  std::string operator()(const Ints& v) const { return shape_text(v); }
};

}  // namespace

std::string call_signature(const Graph& graph, const Node& node, int threads) {
  std::string text = fmt::format("{} t{}", node.op->name, threads);
  for (ValueId id : node.inputs) append(text, graph, id);
  text += " ->";
  for (ValueId id : node.outputs) append(text, graph, id);
  for (const auto& [name, value] : node.attrs.items()) {
    text += fmt::format(" {}={}", name, std::visit(Printer(), value));
  }
  return text;
}

}  // namespace braid::plan
