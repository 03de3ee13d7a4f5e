#include "braid/graph/text.h"

#include <fmt/format.h>

#include <iterator>

#include "braid/graph/init.h"
#include "braid/graph/slot_use.h"
#include "braid/graph/text_tokens.h"

namespace braid {
namespace {

// What the name of a slot tells; a wrong one tells nothing.
SlotUse told_use(const Slot& slot) {
  bool is_known = slot.owner() == kAllMembers ||
                  slot.name.starts_with(member_prefix(slot.owner()));
  return use_of_name(is_known ? slot.own_name() : slot.name, slot.role);
}

class GraphPrinter {
 public:
  explicit GraphPrinter(const Graph& graph)
      : graph_(graph), numbers_(graph.values().size(), kNone) {}

  std::string run();

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Args>(args)...);
  }

  void number_values();
  void number_value(ValueId id);
  bool exists(ValueId id) const {
    return id >= 0 && id < static_cast<ValueId>(numbers_.size());
  }
  std::string value_text(ValueId id) const;
  void put_type(DType dtype, const Shape& shape) {
    put("{}{}", dtype_name(dtype), shape_text(shape));
  }
  void put_layout(const Value& value);
  void put_slot(const Slot& slot);
  void put_content(const std::vector<std::byte>& bytes);
  void put_init(const Init& init);
  void put_inits(const std::vector<Init>& inits);
  void put_input(ValueId id);
  void put_node(const Node& node);
  void put_results(const Node& node);
  void put_result(ValueId id);
  void put_slot_of(const Node& node);
  void put_reads(const Node& node);
  void put_attrs(const Attrs& attrs);
  void put_marks(const Node& node);

  const Graph& graph_;
  std::vector<int32_t> numbers_;  // in the text, by ValueId
  int32_t num_values_ = 0;
  std::string out_;
};

std::string GraphPrinter::run() {
  number_values();
  put("braid-graph 1\n");
  for (const Slot& slot : graph_.slots()) put_slot(slot);
  for (ValueId id : graph_.inputs()) put_input(id);
  for (const Node& node : graph_.nodes()) put_node(node);
  for (const Output& output : graph_.outputs()) {
    put("output {} {}\n", quoted_text(output.name), value_text(output.value));
  }
  return std::move(out_);
}

void GraphPrinter::number_values() {
  for (ValueId id : graph_.inputs()) number_value(id);
  for (const Node& node : graph_.nodes()) {
    for (ValueId id : node.outputs) number_value(id);
  }
}

void GraphPrinter::number_value(ValueId id) {
  if (exists(id)) numbers_[static_cast<size_t>(id)] = num_values_++;
}

std::string GraphPrinter::value_text(ValueId id) const {
  if (id == kNone) return "_";
  int32_t number = exists(id) ? numbers_[static_cast<size_t>(id)] : kNone;
  if (number == kNone) return fmt::format("%?{}", id);
  return fmt::format("%{}", number);
}

void GraphPrinter::put_layout(const Value& value) {
  put_type(value.type.dtype, value.type.shape);
  if (value.strides != contiguous_strides(value.type.shape)) {
    put(" strides{}", shape_text(value.strides));
  }
  if (value.offset != 0) put(" offset={}", value.offset);
}

void GraphPrinter::put_slot(const Slot& slot) {
  put("slot {} ", quoted_text(slot.name));
  put_type(slot.dtype, slot.shape);
  put(" {} ", role_name(slot.role));
  put_init(slot.init);
  if (slot.use != told_use(slot)) put(" use={}", use_name(slot.use));
  if (slot.members != 0) put(" members={}", slot.members);
  if (!slot.owners.empty()) put(" owners={}", shape_text(slot.owners));
  if (!slot.inits.empty()) put_inits(slot.inits);
  for (const std::string& alias : slot.aliases) {
    put(" alias={}", quoted_text(alias));
  }
  if (slot.content) put_content(*slot.content.bytes);
  put("{}\n", slot.trainable ? "" : " frozen");
}

// Large ones are a mark: the name tells them apart.
void GraphPrinter::put_content(const std::vector<std::byte>& bytes) {
  constexpr size_t kMost = 4096;
  if (bytes.size() > kMost) return put(" content=?");
  std::string hex;
  for (std::byte byte : bytes) {
    hex += fmt::format("{:02x}", std::to_integer<int>(byte));
  }
  put(" content={}", quoted_text(hex));
}

void GraphPrinter::put_init(const Init& init) {
  const InitKind& kind = init_kind(init.kind);
  put("{}(", kind.name);
  for (size_t i = 0; i < kind.values.size(); ++i) {
    put("{}{}", i > 0 ? ", " : "", number_text(init.*kind.values[i].place));
  }
  put(")");
}

void GraphPrinter::put_inits(const std::vector<Init>& inits) {
  const char* before = " inits(";
  for (const Init& init : inits) {
    put("{}", before);
    put_init(init);
    before = ", ";
  }
  put(")");
}

void GraphPrinter::put_input(ValueId id) {
  if (!exists(id)) return put("input {}\n", value_text(id));
  put("input {} {} ", value_text(id), quoted_text(graph_.value(id).name));
  put_layout(graph_.value(id));
  put("\n");
}

void GraphPrinter::put_node(const Node& node) {
  put_results(node);
  put("{}", word_text(node.op->name));
  put_slot_of(node);
  put_reads(node);
  put_attrs(node.attrs);
  put_marks(node);
  put("\n");
}

void GraphPrinter::put_results(const Node& node) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (i > 0) put(", ");
    put_result(node.outputs[i]);
  }
  if (!node.outputs.empty()) put(" = ");
}

void GraphPrinter::put_result(ValueId id) {
  put("{}", value_text(id));
  if (!exists(id)) return;
  const Value& value = graph_.value(id);
  if (!value.name.empty()) put(" {}", quoted_text(value.name));
  put(": ");
  put_layout(value);
}

void GraphPrinter::put_slot_of(const Node& node) {
  if (node.slot == kNone) return;
  if (node.slot < 0 ||
      node.slot >= static_cast<SlotId>(graph_.slots().size())) {
    return put(" ?{}", node.slot);
  }
  put(" {}", quoted_text(graph_.slot(node.slot).name));
}

void GraphPrinter::put_reads(const Node& node) {
  if (node.slot != kNone) {
    if (node.inputs.empty()) return;
    put(" ");
  }
  put("(");
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    put("{}{}", i > 0 ? ", " : "", value_text(node.inputs[i]));
  }
  put(")");
}

void GraphPrinter::put_attrs(const Attrs& attrs) {
  if (attrs.items().empty()) return;
  const char* before = " {";
  for (const auto& [name, value] : attrs.items()) {
    put("{}{}={}", before, word_text(name), attr_text(value));
    before = ", ";
  }
  put("}}");
}

void GraphPrinter::put_marks(const Node& node) {
  if (!node.path.empty()) put(" @{}", quoted_text(node.path));
  if (node.phase != Phase::kForward) put(" {}", phase_name(node.phase));
  if (node.segment != 0) put(" segment={}", node.segment);
  if (node.rng_key != 0) put(" rng={:#x}", node.rng_key);
}

}  // namespace

std::string print_graph(const Graph& graph) {
  return GraphPrinter(graph).run();
}

}  // namespace braid
