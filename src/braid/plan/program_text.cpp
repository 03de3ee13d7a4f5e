#include "braid/plan/program_text.h"

#include <algorithm>
#include <map>

#include "braid/graph/text.h"
#include "braid/graph/text_tokens.h"

namespace braid::plan {
namespace {

constexpr std::string_view kTitle = "braid-program 1";
constexpr std::string_view kGraphLine = "graph";
constexpr size_t kMostLines = size_t{1} << 24;

// "[1, _, 3]"
std::string list_text(const std::vector<int32_t>& ids) {
  std::string text = "[";
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) text += ", ";
    text += ids[i] == kNone ? "_" : std::to_string(ids[i]);
  }
  return text + "]";
}

std::string link_text(const Instruction& i) {
  std::string text;
  if (i.event != kNone) text += fmt::format(" event={}", i.event);
  if (!i.waits.empty()) text += " waits=" + list_text(i.waits);
  return text;
}

std::string instruction_text(const Instruction& i) {
  if (i.opcode == Opcode::kWait) return "wait " + list_text(i.waits);
  std::string what = i.moves_bytes()
                         ? fmt::format("{} -> {}", i.source, i.target)
                         : fmt::format("call={}", i.call);
  return fmt::format("{} {} {}{}", opcode_name(i.opcode), stream_name(i.stream),
                     what, link_text(i));
}

class ProgramPrinter {
 public:
  explicit ProgramPrinter(const Program& program) : program_(program) {}

  std::string run() {
    line("{}", kTitle);
    line("micro_batches {}{}", program_.micro_batches,
         program_.is_unrolled ? " unrolled" : "");
    line("memory arena={} host_arena={} events={}", program_.arena_bytes,
         program_.host_arena_bytes, program_.num_events);
    put_slots();
    put_allocations();
    line("inputs {}", list_text(program_.inputs));
    line("outputs {}", list_text(program_.outputs));
    put_calls();
    put_gradients();
    put_units();
    line("{}", kGraphLine);
    return text_ + print_graph(program_.graph);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  std::string slot_name(SlotId id) const {
    return quoted_text(program_.graph.slot(id).name);
  }

  void put_slots() {
    for (size_t i = 0; i < program_.slots.size(); ++i) {
      const SlotStorage& where = program_.slots[i];
      if (where == SlotStorage{}) continue;
      line("slot {}{}{}{}", slot_name(static_cast<SlotId>(i)),
           where.device ? " device" : "", where.host ? " host" : "",
           where.disk ? " disk" : "");
    }
  }

  void put_allocations() {
    for (size_t i = 0; i < program_.allocations.size(); ++i) {
      const Allocation& a = program_.allocations[i];
      std::string offset =
          facts(a.space).is_arena ? fmt::format(" offset={}", a.offset) : "";
      line("allocation {} {} bytes={}{} live=[{}, {}] {}", i,
           facts(a.space).name, a.bytes, offset, a.begin, a.end,
           a.slot == kNone ? quoted_text(a.path) : slot_name(a.slot));
    }
  }

  void put_calls() {
    for (size_t i = 0; i < program_.calls.size(); ++i) {
      const PlannedCall& call = program_.calls[i];
      line("call {} node={} inputs={} outputs={}{}", i, call.node,
           list_text(call.inputs), list_text(call.outputs),
           call.workspace == kNone
               ? ""
               : fmt::format(" workspace={}", call.workspace));
    }
  }

  void put_gradients() {
    for (const Program::GradientUse& use : program_.gradients) {
      const PlannedCall& call = program_.calls[static_cast<size_t>(use.call)];
      const Node& node = program_.graph.node(call.node);
      auto operand = std::ranges::find(node.inputs, use.value);
      line("gradient {} call={} operand={} allocation={}",
           slot_name(use.parameter), use.call, operand - node.inputs.begin(),
           use.allocation);
    }
  }

  void put_units() {
    for (const Unit& unit : program_.units) {
      if (unit.begin == program_.update_begin && program_.update_begin > 0 &&
          !has_update_) {
        line("update");
        has_update_ = true;
      }
      line("unit {} segment={}", phase_name(unit.phase), unit.segment);
      for (int32_t i = unit.begin; i < unit.end; ++i) {
        line("  {}",
             instruction_text(program_.instructions[static_cast<size_t>(i)]));
      }
    }
  }

  const Program& program_;
  std::string text_;
  bool has_update_ = false;
};

template <class Name>
std::optional<size_t> index_of(const Name& names, std::string_view name) {
  auto at = std::ranges::find(names, name);
  if (at == std::end(names)) return std::nullopt;
  return static_cast<size_t>(at - std::begin(names));
}

class ProgramReader {
 public:
  ProgramReader(Graph graph, int64_t num_lines)
      : program_(std::move(graph)), num_lines_(num_lines) {
    program_.slots.resize(program_.graph.slots().size());
    const std::vector<Slot>& slots = program_.graph.slots();
    for (size_t i = 0; i < slots.size(); ++i) {
      slots_[slots[i].name] = static_cast<SlotId>(i);
    }
  }

  void read(std::string_view text, int64_t number) {
    TokenReader in(text, number, "program text");
    if (in.done()) return;
    std::string word(in.word());
    if (word == "micro_batches") {
      program_.micro_batches = between(in, 1, 1 << 20);
      program_.is_unrolled = in.take_word("unrolled");
    } else if (word == "memory") {
      read_memory(in);
    } else if (word == "slot") {
      read_slot(in);
    } else if (word == "allocation") {
      read_allocation(in);
    } else if (word == "inputs" || word == "outputs") {
      (word == "inputs" ? program_.inputs : program_.outputs) =
          list(in, num_allocations());
    } else if (word == "call") {
      read_call(in);
    } else if (word == "gradient") {
      read_gradient(in);
    } else if (word == "unit") {
      read_unit(in);
    } else if (word == "update") {
      program_.update_begin = next_instruction();
    } else {
      read_instruction(in, word);
    }
    in.expect_done();
  }

  Program finish() {
    TokenReader in("", num_lines_, "program text");
    if (program_.inputs.size() != program_.graph.inputs().size() ||
        program_.outputs.size() != program_.graph.outputs().size()) {
      in.fail("inputs and outputs are not those of the graph");
    }
    auto groups = static_cast<size_t>(program_.micro_per_pass());
    if (program_.inputs.size() % groups != 0) {
      in.fail("{} inputs are not those of {} micro-batches",
              program_.inputs.size(), groups);
    }
    for (const Allocation& a : program_.allocations) {
      if (a.begin < 0 || a.begin > a.end ||
          a.end >= std::max(next_instruction(), 1)) {
        in.fail("an allocation lives from {} to {} in {} instructions", a.begin,
                a.end, next_instruction());
      }
    }
    measure_units(program_);
    return std::move(program_);
  }

 private:
  int32_t next_instruction() const {
    return static_cast<int32_t>(program_.instructions.size());
  }
  int64_t num_allocations() const { return std::ssize(program_.allocations); }

  static int64_t between(TokenReader& in, int64_t low, int64_t high) {
    int64_t number = in.integer();
    if (number < low || number > high) {
      in.fail("{} is not from {} to {}", number, low, high);
    }
    return number;
  }
  static int32_t id_below(TokenReader& in, int64_t count) {
    return static_cast<int32_t>(between(in, 0, count - 1));
  }
  static void key(TokenReader& in, std::string_view name) {
    if (!in.take_word(name)) in.fail("expected '{}='", name);
    in.expect('=');
  }
  static bool optional_key(TokenReader& in, std::string_view name) {
    if (!in.take_word(name)) return false;
    in.expect('=');
    return true;
  }

  static std::vector<int32_t> list(TokenReader& in, int64_t count) {
    std::vector<int32_t> ids;
    in.expect('[');
    while (!in.take(']')) {
      if (!ids.empty()) in.expect(',');
      ids.push_back(in.take_word("_") ? kNone : id_below(in, count));
    }
    return ids;
  }

  SlotId slot(TokenReader& in) {
    std::string name = in.quoted();
    auto at = slots_.find(name);
    if (at == slots_.end()) in.fail("there is no slot {}", shown(name));
    return at->second;
  }

  void read_memory(TokenReader& in) {
    key(in, "arena");
    program_.arena_bytes = between(in, 0, int64_t{1} << 60);
    key(in, "host_arena");
    program_.host_arena_bytes = between(in, 0, int64_t{1} << 60);
    key(in, "events");
    program_.num_events = static_cast<int32_t>(between(in, 0, 1 << 30));
  }

  void read_slot(TokenReader& in) {
    SlotStorage& where = program_.slots[static_cast<size_t>(slot(in))];
    where.device = in.take_word("device");
    where.host = in.take_word("host");
    where.disk = in.take_word("disk");
  }

  void read_allocation(TokenReader& in) {
    expect_next(in, num_allocations());
    std::string_view name = in.word();
    auto row = std::ranges::find(kSpaces, name, &SpaceFacts::name);
    if (row == kSpaces.end()) in.fail("there is no space {}", shown(name));
    Allocation a{.space = row->space, .path = ""};
    key(in, "bytes");
    a.bytes = between(in, 0, int64_t{1} << 60);
    if (row->is_arena) {
      key(in, "offset");
      a.offset = between(in, 0, int64_t{1} << 60);
    }
    key(in, "live");
    Ints live = in.integers();
    if (live.size() != 2 || live[0] < 0 || live[1] > (1 << 30)) {
      in.fail("live has a first and a last instruction");
    }
    a.begin = static_cast<int32_t>(live[0]);
    a.end = static_cast<int32_t>(live[1]);
    if (row->is_arena) {
      a.path = in.quoted();
    } else {
      a.slot = slot(in);
      a.path = program_.graph.slot(a.slot).name;
    }
    program_.allocations.push_back(std::move(a));
  }

  static void expect_next(TokenReader& in, int64_t expected) {
    int64_t number = in.integer();
    if (number != expected) {
      in.fail("expected number {}, got {}", expected, number);
    }
  }

  void read_call(TokenReader& in) {
    expect_next(in, std::ssize(program_.calls));
    PlannedCall call;
    key(in, "node");
    call.node = id_below(in, std::ssize(program_.graph.nodes()));
    key(in, "inputs");
    call.inputs = list(in, num_allocations());
    key(in, "outputs");
    call.outputs = list(in, num_allocations());
    if (optional_key(in, "workspace")) {
      call.workspace = id_below(in, num_allocations());
    }
    const Node& node = program_.graph.node(call.node);
    size_t results = node.outputs.size() + (node.slot == kNone ? 0 : 1);
    if (call.inputs.size() != node.inputs.size() ||
        call.outputs.size() != results) {
      in.fail("node {} has {} inputs and {} outputs", call.node,
              node.inputs.size(), results);
    }
    program_.calls.push_back(std::move(call));
  }

  void read_gradient(TokenReader& in) {
    Program::GradientUse use{.parameter = slot(in)};
    key(in, "call");
    use.call = id_below(in, std::ssize(program_.calls));
    key(in, "operand");
    const Node& node =
        program_.graph.node(program_.calls[static_cast<size_t>(use.call)].node);
    use.value =
        node.inputs[static_cast<size_t>(id_below(in, std::ssize(node.inputs)))];
    key(in, "allocation");
    use.allocation = id_below(in, num_allocations());
    program_.gradients.push_back(use);
  }

  void read_unit(TokenReader& in) {
    Unit unit{.begin = next_instruction(), .end = next_instruction()};
    std::string_view name = in.word();
    constexpr Phase kPhases[] = {Phase::kForward, Phase::kBackward,
                                 Phase::kUpdate};
    auto phase = std::ranges::find(kPhases, name, phase_name);
    if (phase == std::end(kPhases)) in.fail("no phase is {}", shown(name));
    unit.phase = *phase;
    key(in, "segment");
    unit.segment = static_cast<int32_t>(between(in, kNone, 1 << 30));
    program_.units.push_back(unit);
  }

  void read_instruction(TokenReader& in, const std::string& word) {
    auto opcode = index_of(kOpcodeNames, word);
    if (!opcode) in.fail("no statement begins with {}", shown(word));
    if (program_.units.empty()) in.fail("an instruction before any unit");
    Instruction i{.opcode = static_cast<Opcode>(*opcode)};
    if (i.opcode == Opcode::kWait) {
      i.waits = list(in, program_.num_events);
    } else {
      read_operands(in, i);
    }
    program_.instructions.push_back(std::move(i));
    program_.units.back().end = next_instruction();
  }

  void read_operands(TokenReader& in, Instruction& i) {
    std::string_view name = in.word();
    auto stream = index_of(kStreamNames, name);
    if (!stream) in.fail("there is no stream {}", shown(name));
    i.stream = static_cast<Stream>(*stream);
    if (i.moves_bytes()) {
      i.source = id_below(in, num_allocations());
      in.expect('-');
      in.expect('>');
      i.target = id_below(in, num_allocations());
    } else {
      key(in, "call");
      i.call = id_below(in, std::ssize(program_.calls));
    }
    if (optional_key(in, "event")) i.event = id_below(in, program_.num_events);
    if (optional_key(in, "waits")) i.waits = list(in, program_.num_events);
  }

  Program program_;
  int64_t num_lines_;
  std::map<std::string, SlotId> slots_;
};

// The lines before the graph, and the graph's text.
struct Parts {
  std::vector<std::string_view> lines;
  std::string_view graph;
};

Parts split(std::string_view text) {
  Parts parts;
  while (!text.empty() && parts.lines.size() < kMostLines) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line == kGraphLine) {
      parts.graph = text;
      return parts;
    }
    parts.lines.push_back(line);
  }
  fail_usage("[program text] line {}: the line 'graph' is missing",
             parts.lines.size());
}

}  // namespace

std::string print_program(const Program& program) {
  return ProgramPrinter(program).run();
}

Program parse_program(std::string_view text, const TypeRules& rules) {
  Parts parts = split(text);
  if (parts.lines.empty() || parts.lines[0] != kTitle) {
    fail_usage("[program text] line 1: expected '{}'", kTitle);
  }
  ProgramReader reader(parse_graph(parts.graph, rules),
                       std::ssize(parts.lines));
  for (size_t i = 1; i < parts.lines.size(); ++i) {
    reader.read(parts.lines[i], static_cast<int64_t>(i) + 1);
  }
  return reader.finish();
}

}  // namespace braid::plan
