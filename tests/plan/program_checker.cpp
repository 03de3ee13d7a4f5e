#include "plan/program_checker.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "braid/base/bytes.h"
#include "braid/plan/buffers.h"

namespace braid::plan {
namespace {

constexpr size_t kMostProblems = 5;
constexpr size_t kStreams = kNumStreams;

// Places that an instruction reads and writes.
struct Uses {
  std::vector<int32_t> reads, writes;
};

class Checker {
 public:
  explicit Checker(const Program& program)
      : program_(program),
        graph_(program.graph),
        value_tag_(graph_.values().size(), 0),
        made_tag_(graph_.nodes().size(), 0),
        slot_tag_(graph_.slots().size(), 0),
        place_tag_(program.allocations.size(), 0) {}

  std::vector<std::string> run() {
    check_places();
    begin_state();
    auto end = static_cast<int32_t>(program_.instructions.size());
    if (program_.is_one_part()) {
      pass(0, end, true, true);
    } else {
      pass(0, program_.update_begin, true, false);
      pass(0, program_.update_begin, true, false);
      pass(program_.update_begin, end, false, true);
    }
    return std::move(problems_);
  }

 private:
  template <class... Args>
  void problem(fmt::format_string<Args...> text, Args&&... args) {
    if (problems_.size() >= kMostProblems) return;
    problems_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  const Instruction& at(int32_t i) const {
    return program_.instructions[static_cast<size_t>(i)];
  }
  const Allocation& place(int32_t id) const {
    return program_.allocations[static_cast<size_t>(id)];
  }
  int64_t& value_tag(ValueId id) { return value_tag_[static_cast<size_t>(id)]; }
  int64_t& slot_tag(SlotId id) { return slot_tag_[static_cast<size_t>(id)]; }
  int64_t& place_tag(int32_t id) { return place_tag_[static_cast<size_t>(id)]; }

  Uses uses_of(const Instruction& i) const;

  // --- places ---
  void check_spaces(int32_t i);
  void expect_space(int32_t i, int32_t id, bool fits);

  // --- lifetimes ---
  void check_places();
  void check_overlaps(Space space, int64_t arena_bytes);

  // --- order ---
  using Clock = std::array<int64_t, kStreams>;
  struct Granule {
    int32_t owner = kNone;  // the place last written
    size_t write_stream = 0;
    int64_t write = 0;  // number of the write on its stream
    Clock reads = {};   // last read of each stream since
  };
  struct Streams {
    Clock now = {};                         // of the compute stream
    std::array<Clock, kStreams> last = {};  // of each stream's last operation
    Clock count = {};                       // operations so far
    std::map<int32_t, Clock> issued;        // by event: when it completes
    std::set<int32_t> awaited;
  };
  static void join(Clock& clock, const Clock& other);
  const Clock& completion(int32_t i, int32_t event);
  void wait(int32_t i);
  void operate(int32_t i);
  template <class Visit>
  void visit_granules(int32_t id, Visit visit);
  void check_order(int32_t i, const Clock& before, size_t stream,
                   int64_t number);

  // --- contents ---
  void begin_state();
  void begin_values(bool micro, bool update);
  void begin_memory();
  void check_contents(int32_t i);
  void run_call(int32_t i);
  void pass(int32_t begin, int32_t end, bool micro, bool update);
  void end_pass(bool micro);

  const Program& program_;
  const Graph& graph_;
  std::vector<std::string> problems_;
  std::map<std::pair<int, int64_t>, Granule> memory_;  // space, granule
  std::vector<int64_t> value_tag_, made_tag_, slot_tag_, place_tag_;
  int64_t last_tag_ = 0;
  Streams streams_;
};

Uses Checker::uses_of(const Instruction& i) const {
  Uses uses;
  if (i.moves_bytes()) return {{i.source}, {i.target}};
  if (i.opcode == Opcode::kWait) return uses;
  const PlannedCall& call = program_.calls[static_cast<size_t>(i.call)];
  for (int32_t id : call.inputs) {
    if (id != kNone) uses.reads.push_back(id);
  }
  uses.writes = call.outputs;
  if (graph_.node(call.node).op->name == "accumulate") {
    uses.reads.push_back(call.outputs.back());
  }
  if (call.workspace != kNone) uses.writes.push_back(call.workspace);
  return uses;
}

void Checker::expect_space(int32_t i, int32_t id, bool fits) {
  if (fits) return;
  problem("instruction {} uses place {} in '{}'", i, id,
          facts(place(id).space).name);
}

// Each stream reaches two kinds of memory at most.
void Checker::check_spaces(int32_t i) {
  const Instruction& in = at(i);
  auto on_device = [&](int32_t id) { return facts(place(id).space).on_device; };
  auto in_file = [&](int32_t id) {
    return place(id).space == Space::kDiskSlot;
  };
  auto on_host = [&](int32_t id) { return !on_device(id) && !in_file(id); };
  if (in.opcode == Opcode::kDiskRead || in.opcode == Opcode::kDiskWrite) {
    bool reads = in.opcode == Opcode::kDiskRead;
    int32_t file = reads ? in.source : in.target;
    int32_t memory = reads ? in.target : in.source;
    expect_space(i, file, in_file(file));
    expect_space(i, memory, place(memory).space == Space::kHostArena);
    if (in.stream != Stream::kDisk) problem("instruction {}: no stream", i);
  } else if (in.opcode == Opcode::kCopy) {
    bool comes_in = in.stream == Stream::kHostToDevice;
    expect_space(i, in.source,
                 comes_in ? on_host(in.source) : on_device(in.source));
    expect_space(i, in.target,
                 comes_in ? on_device(in.target) : on_host(in.target));
  } else if (in.opcode == Opcode::kRun) {
    Uses uses = uses_of(in);
    uses.reads.insert(uses.reads.end(), uses.writes.begin(), uses.writes.end());
    bool is_host = in.stream == Stream::kHostUpdate;
    for (int32_t id : uses.reads) {
      expect_space(i, id, is_host ? on_host(id) : on_device(id));
    }
  }
}

void Checker::check_places() {
  check_overlaps(Space::kArena, program_.arena_bytes);
  check_overlaps(Space::kHostArena, program_.host_arena_bytes);
  for (size_t n = 0; n < program_.instructions.size(); ++n) {
    auto i = static_cast<int32_t>(n);
    check_spaces(i);
    Uses uses = uses_of(at(i));
    uses.reads.insert(uses.reads.end(), uses.writes.begin(), uses.writes.end());
    for (int32_t id : uses.reads) {
      const Allocation& a = place(id);
      bool in_arena = a.slot == kNone;
      if (in_arena && (i < a.begin || i > a.end)) {
        problem("instruction {} uses place {}, alive from {} to {}", i, id,
                a.begin, a.end);
      }
    }
  }
}

void Checker::check_overlaps(Space space, int64_t arena_bytes) {
  std::vector<const Allocation*> all;
  for (const Allocation& a : program_.allocations) {
    if (a.space == space && a.bytes > 0) all.push_back(&a);
  }
  auto end_of = [](const Allocation& a) { return a.offset + a.bytes; };
  for (const Allocation* a : all) {
    if (a->offset < 0 || a->offset % kAlignment != 0 ||
        end_of(*a) > arena_bytes) {
      problem("a place at {} of {} bytes does not lie in an arena of {}",
              a->offset, a->bytes, arena_bytes);
    }
    for (const Allocation* b : all) {
      if (a < b && a->begin <= b->end && b->begin <= a->end &&
          a->offset < end_of(*b) && b->offset < end_of(*a)) {
        problem("two places overlap at offsets {} and {}", a->offset,
                b->offset);
      }
    }
  }
}

void Checker::join(Clock& clock, const Clock& other) {
  for (size_t s = 0; s < kStreams; ++s) clock[s] = std::max(clock[s], other[s]);
}

template <class Visit>
void Checker::visit_granules(int32_t id, Visit visit) {
  const Allocation& a = place(id);
  auto space = static_cast<int>(a.space);
  if (a.slot != kNone) return visit(memory_[{space, a.slot}]);
  int64_t first = a.offset / kAlignment;
  int64_t count = align_up(a.bytes, kAlignment) / kAlignment;
  for (int64_t g = first; g < first + count; ++g) visit(memory_[{space, g}]);
}

// `before` tells, per stream, how many operations are surely complete.
void Checker::check_order(int32_t i, const Clock& before, size_t stream,
                          int64_t number) {
  Uses uses = uses_of(at(i));
  auto is_before = [&](size_t s, int64_t n) {
    return s == stream || n <= before[s];
  };
  for (int32_t id : uses.reads) {
    visit_granules(id, [&](Granule& g) {
      if (!is_before(g.write_stream, g.write)) {
        problem("instruction {} may read place {} before it is written", i, id);
      }
      if (g.owner != id) {
        problem("instruction {} reads place {}, overwritten by place {}", i, id,
                g.owner);
      }
      g.reads[stream] = number;
    });
  }
  for (int32_t id : uses.writes) {
    visit_granules(id, [&](Granule& g) {
      bool ordered = is_before(g.write_stream, g.write);
      for (size_t s = 0; s < kStreams; ++s) {
        ordered = ordered && is_before(s, g.reads[s]);
      }
      if (!ordered) {
        problem("instruction {} may write place {} while it is in use", i, id);
      }
      g = {id, stream, number, {}};
    });
  }
}

void Checker::begin_state() {
  for (int64_t& tag : slot_tag_) tag = ++last_tag_;
  for (size_t i = 0; i < program_.allocations.size(); ++i) {
    SlotId slot = program_.allocations[i].slot;
    if (slot != kNone) place_tag_[i] = slot_tag(slot);
  }
}

// What every value of a part holds, by the graph alone.
void Checker::begin_values(bool micro, bool update) {
  for (size_t n = 0; n < graph_.nodes().size(); ++n) {
    const Node& node = graph_.nodes()[n];
    bool in_update = !program_.is_one_part() && node.phase == Phase::kUpdate;
    if (in_update ? !update : !micro) continue;
    if (node.op->name == "read") {
      value_tag(node.outputs[0]) = slot_tag(node.slot);
    } else if (node.op->name == "assign") {
      slot_tag(node.slot) = value_tag(node.inputs[0]);
    } else if (node.op->view) {
      value_tag(node.outputs[0]) = value_tag(node.inputs[0]);
    } else {
      for (ValueId id : node.outputs) value_tag(id) = ++last_tag_;
      if (node.op->name == "accumulate") {
        slot_tag(node.slot) = made_tag_[n] = ++last_tag_;
      }
    }
  }
}

void Checker::run_call(int32_t i) {
  const PlannedCall& call = program_.calls[static_cast<size_t>(at(i).call)];
  const Node& node = graph_.node(call.node);
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (node.inputs[k] == kNone) continue;
    if (place_tag(call.inputs[k]) != value_tag(node.inputs[k])) {
      problem("instruction {} ({}) finds another value in operand {}", i,
              node.op->name, k);
    }
  }
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    place_tag(call.outputs[k]) = value_tag(node.outputs[k]);
  }
  if (node.op->name == "assign") {
    place_tag(call.outputs.back()) = value_tag(node.inputs[0]);
  } else if (node.op->name == "accumulate") {
    place_tag(call.outputs.back()) = made_tag_[static_cast<size_t>(call.node)];
  }
}

void Checker::check_contents(int32_t i) {
  const Instruction& in = at(i);
  if (in.moves_bytes()) {
    place_tag(in.target) = place_tag(in.source);
    // Whole blocks are copied and reserved.
    if (align_up(place(in.source).bytes, kAlignment) >
        align_up(place(in.target).bytes, kAlignment)) {
      problem("instruction {} copies into a place that is too small", i);
    }
  } else if (!is_wait(in)) {
    run_call(i);
  }
}

// Inputs and slots are there; nothing else is.
void Checker::begin_memory() {
  memory_.clear();
  for (size_t k = 0; k < graph_.inputs().size(); ++k) {
    int32_t where = program_.inputs[k];
    place_tag(where) = value_tag(graph_.inputs()[k]);
    visit_granules(where, [&](Granule& g) { g.owner = where; });
  }
  for (size_t k = 0; k < program_.allocations.size(); ++k) {
    auto id = static_cast<int32_t>(k);
    if (place(id).slot == kNone) continue;
    visit_granules(id, [&](Granule& g) { g.owner = id; });
  }
}

const Checker::Clock& Checker::completion(int32_t i, int32_t event) {
  if (!streams_.issued.contains(event)) {
    problem("instruction {} waits for event {} too early", i, event);
  }
  return streams_.issued[event];
}

void Checker::wait(int32_t i) {
  for (int32_t event : at(i).waits) {
    join(streams_.now, completion(i, event));
    streams_.awaited.insert(event);
  }
}

// What an operation surely follows: what compute did before it was issued,
// its stream's last one, and the events it names.
void Checker::operate(int32_t i) {
  const Instruction& in = at(i);
  auto stream = static_cast<size_t>(in.stream);
  Clock before = streams_.now;
  join(before, streams_.last[stream]);
  for (int32_t event : in.waits) join(before, completion(i, event));
  int64_t number = ++streams_.count[stream];
  check_order(i, before, stream, number);
  check_contents(i);
  before[stream] = number;
  streams_.last[stream] = before;
  if (in.stream == Stream::kCompute) {
    streams_.now = before;
  } else if (in.event == kNone ||
             !streams_.issued.emplace(in.event, before).second) {
    problem("instruction {} completes event {} again or none", i, in.event);
  }
}

void Checker::pass(int32_t begin, int32_t end, bool micro, bool update) {
  if (micro) {
    for (ValueId id : graph_.inputs()) value_tag(id) = ++last_tag_;
  }
  begin_values(micro, update);
  begin_memory();
  streams_ = {};
  for (int32_t i = begin; i < end; ++i) {
    is_wait(at(i)) ? wait(i) : operate(i);
  }
  for (const auto& [event, unused] : streams_.issued) {
    if (!streams_.awaited.contains(event)) {
      problem("event {} is never awaited", event);
    }
  }
  end_pass(micro);
}

void Checker::end_pass(bool micro) {
  for (size_t k = 0; k < program_.allocations.size(); ++k) {
    const Allocation& a = program_.allocations[k];
    if (a.slot != kNone && place_tag_[k] != slot_tag(a.slot)) {
      problem("slot '{}' ends with another content", graph_.slot(a.slot).name);
    }
  }
  for (size_t k = 0; micro && k < graph_.outputs().size(); ++k) {
    int32_t where = program_.outputs[k];
    bool kept = true;
    visit_granules(where, [&](Granule& g) { kept &= g.owner == where; });
    if (!kept || place_tag(where) != value_tag(graph_.outputs()[k].value)) {
      problem("output '{}' is lost", graph_.outputs()[k].name);
    }
  }
}

}  // namespace

std::vector<std::string> problems_of(const OpTable&, const Program& program) {
  return Checker(program).run();
}

}  // namespace braid::plan
