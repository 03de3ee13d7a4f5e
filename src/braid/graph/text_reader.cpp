// Reads graph text, one statement per line. Text may come from anywhere, so
// each number is checked before it is used as a size or an id, and there is a
// limit on everything that Graph searches in linear time.
#include <map>
#include <set>
#include <utility>

#include "braid/base/bytes.h"
#include "braid/graph/text.h"
#include "braid/graph/text_slots.h"
#include "braid/graph/text_tokens.h"
#include "braid/graph/verify.h"

namespace braid {
namespace {

constexpr size_t kMaxTextBytes = size_t{256} << 20;
constexpr size_t kMaxSlots = 1 << 15;
constexpr size_t kMaxInputs = 1 << 15;
constexpr size_t kMaxAttrs = 1 << 10;

constexpr Phase kPhases[] = {Phase::kForward, Phase::kBackward, Phase::kUpdate};

// A value as its line describes it.
struct Declared {
  int64_t number = 0;
  std::string name;
  ValueType type;
  Strides strides;
  int64_t offset = 0;
};

class GraphReader {
 public:
  explicit GraphReader(const TypeRules& rules) : graph_(rules) {}

  Graph run(std::string_view text);

 private:
  void read_statement(TokenReader& in);
  void read_slot(TokenReader& in);
  void claim_slot_name(TokenReader& in, const std::string& name);
  void read_input(TokenReader& in);
  void read_output(TokenReader& in);
  void read_node(TokenReader& in);
  void read_slot_of(TokenReader& in, Node& node);
  void read_reads(TokenReader& in, Node& node);
  void read_phase(TokenReader& in, Node& node);
  ValueId read_value(TokenReader& in);
  void check_types(TokenReader& in, const Node& node, const std::string& op,
                   const std::vector<Declared>& declared);
  void define(TokenReader& in, Declared declared, ValueId id);

  Graph graph_;
  std::map<int64_t, ValueId> values_;  // by number in the text
  std::map<std::string, SlotId> slots_;
  std::set<std::string> slot_names_;  // aliases too
  std::set<std::string> input_names_;
  std::set<std::string> output_names_;
  Phase phase_ = Phase::kForward;
};

void read_header(TokenReader& in) {
  if (!in.take_word("braid-graph") || in.integer() != 1) {
    in.fail(
        "this is not graph text that can be read\n"
        "HINT: it begins with the line 'braid-graph 1'");
  }
  in.expect_done();
}

Graph GraphReader::run(std::string_view text) {
  int64_t line_number = 0;
  bool has_header = false;
  while (!text.empty() || line_number == 0) {
    size_t end = text.find('\n');
    TokenReader in(text.substr(0, end), ++line_number);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (in.done() && (has_header || !text.empty())) continue;
    if (has_header) {
      read_statement(in);
    } else {
      read_header(in);
      has_header = true;
    }
  }
  verify(graph_);
  return std::move(graph_);
}

void GraphReader::read_statement(TokenReader& in) {
  if (in.take_word("slot")) return read_slot(in);
  if (in.take_word("input")) return read_input(in);
  if (in.take_word("output")) return read_output(in);
  read_node(in);
}

void GraphReader::read_slot(TokenReader& in) {
  Slot slot = read_slot_text(in);
  claim_slot_name(in, slot.name);
  for (const std::string& alias : slot.aliases) claim_slot_name(in, alias);
  if (slots_.size() == kMaxSlots) in.fail("more than {} slots", kMaxSlots);
  std::string name = slot.name;
  slots_[std::move(name)] = graph_.add_slot(std::move(slot));
}

void GraphReader::claim_slot_name(TokenReader& in, const std::string& name) {
  if (!slot_names_.insert(name).second) {
    in.fail("there is already a slot {}", shown(name));
  }
}

int64_t read_value_number(TokenReader& in) {
  in.expect('%');
  int64_t number = in.integer();
  if (number < 0) in.fail("value number {} is negative", number);
  return number;
}

void read_layout(TokenReader& in, Declared& declared) {
  declared.type = read_type(in);
  bool has_strides = in.take_word("strides");
  declared.strides =
      has_strides ? in.integers() : contiguous_strides(declared.type.shape);
  if (in.take_word("offset")) {
    in.expect('=');
    declared.offset = in.integer();
  }
}

// Enters a value of the graph under its number, with name and layout.
void GraphReader::define(TokenReader& in, Declared declared, ValueId id) {
  if (!values_.emplace(declared.number, id).second) {
    in.fail("value %{} is there already", declared.number);
  }
  Value& value = graph_.value(id);
  value.name = std::move(declared.name);
  value.strides = std::move(declared.strides);
  value.offset = declared.offset;
  if (!layout_fits(value)) {
    in.fail("strides {} and offset {} do not fit {}", shape_text(value.strides),
            value.offset, shape_text(value.type.shape));
  }
}

void GraphReader::read_input(TokenReader& in) {
  Declared declared;
  declared.number = read_value_number(in);
  declared.name = in.quoted();
  read_layout(in, declared);
  in.expect_done();
  if (!input_names_.insert(declared.name).second) {
    in.fail("there is already an input {}", shown(declared.name));
  }
  if (input_names_.size() > kMaxInputs) {
    in.fail("more than {} inputs", kMaxInputs);
  }
  ValueId id = graph_.add_input(declared.name, declared.type);
  define(in, std::move(declared), id);
}

ValueId GraphReader::read_value(TokenReader& in) {
  int64_t number = read_value_number(in);
  auto found = values_.find(number);
  if (found == values_.end()) {
    in.fail("value %{} is used before it is made", number);
  }
  return found->second;
}

void GraphReader::read_output(TokenReader& in) {
  std::string name = in.quoted();
  ValueId value = read_value(in);
  in.expect_done();
  if (!output_names_.insert(name).second) {
    in.fail("there is already an output {}", shown(name));
  }
  // Not add_output(), which would search all outputs again.
  graph_.outputs().push_back({std::move(name), value});
}

// %4: f32[16, 32], %5 "rows": f32[16] =
std::vector<Declared> read_results(TokenReader& in) {
  std::vector<Declared> results;
  if (in.peek() != '%') return results;
  do {
    Declared& result = results.emplace_back();
    result.number = read_value_number(in);
    if (in.peek() == '"') result.name = in.quoted();
    in.expect(':');
    read_layout(in, result);
  } while (in.take(','));
  in.expect('=');
  return results;
}

void GraphReader::read_slot_of(TokenReader& in, Node& node) {
  if (!node.op || !node.op->uses_slot()) return;
  std::string name = in.quoted();
  auto found = slots_.find(name);
  if (found == slots_.end()) in.fail("there is no slot {}", shown(name));
  node.slot = found->second;
}

void GraphReader::read_reads(TokenReader& in, Node& node) {
  if (node.slot != kNone && in.peek() != '(') return;
  in.expect('(');
  if (in.take(')')) return;
  do {
    node.inputs.push_back(in.take_word("_") ? kNone : read_value(in));
  } while (in.take(','));
  in.expect(')');
}

// {members=3, dims=[1, 2]}
void read_attrs(TokenReader& in, Attrs& attrs) {
  if (!in.take('{')) return;
  do {
    std::string name = in.name();
    if (attrs.has(name)) in.fail("attribute {} is there twice", shown(name));
    if (attrs.items().size() == kMaxAttrs) {
      in.fail("more than {} attributes", kMaxAttrs);
    }
    in.expect('=');
    attrs.set(name, in.attr());
  } while (in.take(','));
  in.expect('}');
}

void GraphReader::read_phase(TokenReader& in, Node& node) {
  for (Phase phase : kPhases) {
    if (in.take_word(phase_name(phase))) node.phase = phase;
  }
  if (phase_ == Phase::kUpdate && node.phase != Phase::kUpdate) {
    in.fail("phase {} comes after update", phase_name(node.phase));
  }
  phase_ = node.phase;
}

void read_segment(TokenReader& in, Node& node) {
  if (!in.take_word("segment")) return;
  in.expect('=');
  int64_t segment = in.integer();
  if (!std::in_range<int32_t>(segment)) {
    in.fail("segment {} does not fit 32 bits", segment);
  }
  node.segment = static_cast<int32_t>(segment);
}

void read_rng_key(TokenReader& in, Node& node) {
  if (!in.take_word("rng")) return;
  in.expect('=');
  node.rng_key = in.hex();
}

// Asks the rules before the node is added, so that no type enters the graph
// that read_type() would refuse.
void GraphReader::check_types(TokenReader& in, const Node& node,
                              const std::string& op,
                              const std::vector<Declared>& declared) {
  std::vector<ValueType> types;
  try {
    if (!node.op) graph_.rules().at(op);
    types = graph_.rules().infer(graph_, node);
  } catch (const std::exception& error) {
    in.fail("{}", error.what());
  }
  if (types.size() != declared.size()) {
    in.fail("{} outputs are given, {} yields {}", declared.size(), shown(op),
            types.size());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const ValueType& given = declared[i].type;
    if (given == types[i]) continue;
    in.fail("%{} is {}{}, but {} yields {}{}", declared[i].number,
            dtype_name(given.dtype), shape_text(given.shape), shown(op),
            dtype_name(types[i].dtype), shape_text(types[i].shape));
  }
}

void GraphReader::read_node(TokenReader& in) {
  std::vector<Declared> results = read_results(in);
  Node node;
  std::string op = in.name();
  node.op = graph_.rules().find(op);
  read_slot_of(in, node);
  read_reads(in, node);
  read_attrs(in, node.attrs);
  if (in.take('@')) node.path = in.quoted();
  read_phase(in, node);
  read_segment(in, node);
  read_rng_key(in, node);
  in.expect_done();
  check_types(in, node, op, results);
  NodeId id = graph_.add_like(node, node.inputs);
  for (size_t i = 0; i < results.size(); ++i) {
    define(in, std::move(results[i]), graph_.node(id).outputs[i]);
  }
}

}  // namespace

Graph parse_graph(std::string_view text, const TypeRules& rules) {
  if (text.size() > kMaxTextBytes) {
    fail_usage("[graph text] line 1: the text has {}, more than {}",
               bytes_text(static_cast<int64_t>(text.size())),
               bytes_text(int64_t{kMaxTextBytes}));
  }
  return GraphReader(rules).run(text);
}

}  // namespace braid
