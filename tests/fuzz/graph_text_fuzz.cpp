// Fuzz target for the graph text reader: whatever it takes, it prints and
// takes again unchanged, and only std::invalid_argument escapes it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "braid/graph/text.h"

namespace {

using braid::Attr;
using braid::Graph;
using braid::Node;
using braid::Op;
using braid::OpKind;
using braid::ValueType;

// Takes any op. Outputs are like the first input, or f32[]; an attribute
// `outputs` asks for more or fewer than one.
class AnyRules : public braid::TypeRules {
 public:
  std::vector<ValueType> infer(const Graph& graph,
                               const Node& node) const override {
    if (node.op->name == "assign" || node.op->name == "accumulate") return {};
    return std::vector<ValueType>(num_outputs(node), first_type(graph, node));
  }
  // Ops are made when they are first met.
  const Op* find(std::string_view name) const override {
    auto [at, fresh] = ops_.try_emplace(std::string(name));
    if (fresh) at->second = made(at->first);
    return &at->second;
  }
  const Op& at(std::string_view name) const override { return *find(name); }

 private:
  static Op made(const std::string& name) {
    Op op{.name = name, .random = name == "dropout"};
    if (name == "read") op.kind = OpKind::kRead;
    if (name == "assign") op.kind = OpKind::kAssign;
    if (name == "accumulate") op.kind = OpKind::kAccumulate;
    return op;
  }

  static ValueType first_type(const Graph& graph, const Node& node) {
    if (node.op->name == "read") {
      const braid::Slot& slot = graph.slot(node.slot);
      return {slot.dtype, slot.stored_shape()};
    }
    if (node.inputs.empty() || node.inputs[0] == braid::kNone) return {};
    return graph.value(node.inputs[0]).type;
  }

  static size_t num_outputs(const Node& node) {
    const Attr* attr = node.attrs.find("outputs");
    const int64_t* count = attr ? std::get_if<int64_t>(attr) : nullptr;
    return count ? static_cast<size_t>(*count & 7) : 1;
  }

  mutable std::map<std::string, Op> ops_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  AnyRules rules;
  std::string printed;
  try {
    printed = braid::print_graph(braid::parse_graph(text, rules));
  } catch (const std::invalid_argument&) {
    return 0;
  }
  // Outside the try: text that was printed must be read.
  if (braid::print_graph(braid::parse_graph(printed, rules)) != printed) {
    std::abort();
  }
  return 0;
}
