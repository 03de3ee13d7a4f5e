#include "braid/compile/program_set.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "braid/base/error.h"
#include "braid/compile/planner.h"
#include "braid/plan/program_text.h"

namespace braid::compile {
namespace {

// Programs agree about a slot when they could be one program's.
void check_same(const Slot& a, const Slot& b) {
  bool same = a.dtype == b.dtype && a.shape == b.shape && a.role == b.role &&
              a.members == b.members && a.init == b.init &&
              a.owners == b.owners && a.inits == b.inits &&
              a.content == b.content;
  if (same) return;
  fail_usage("[programs] slot '{}' is {}{} in one and {}{} in another", a.name,
             dtype_name(a.dtype), shape_text(a.shape), dtype_name(b.dtype),
             shape_text(b.shape));
}

// By slot, whether the program writes it.
std::vector<bool> written_slots(const plan::Program& program) {
  std::vector<bool> written(program.graph.slots().size(), false);
  for (const Node& node : program.graph.nodes()) {
    if (node.op->writes_slot) written[static_cast<size_t>(node.slot)] = true;
  }
  return written;
}

// Slots of all programs, and what they take together with the largest arena.
void merge_slots(ProgramSet& set) {
  std::map<std::string, size_t> known;
  for (const plan::Program& program : set.programs) {
    set.arena_bytes = std::max(set.arena_bytes, program.arena_bytes);
    set.host_arena_bytes =
        std::max(set.host_arena_bytes, program.host_arena_bytes);
    for (size_t i = 0; i < program.graph.slots().size(); ++i) {
      const Slot& slot = program.graph.slots()[i];
      auto [entry, is_new] = known.emplace(slot.name, set.slots.size());
      if (is_new) {
        set.slots.push_back(slot);
        set.places.push_back(program.slots[i]);
        continue;
      }
      check_same(set.slots[entry->second], slot);
      plan::SlotStorage& place = set.places[entry->second];
      place.device = place.device || program.slots[i].device;
      place.host = place.host || program.slots[i].host;
      place.disk = place.disk || program.slots[i].disk;
    }
  }
  set.peak_bytes = set.arena_bytes;
  set.host_bytes = set.host_arena_bytes;
  for (size_t i = 0; i < set.slots.size(); ++i) {
    int64_t bytes = plan::slot_bytes(set.slots[i]);
    if (set.places[i].device) set.peak_bytes += bytes;
    if (set.places[i].host) set.host_bytes += bytes;
    if (set.places[i].disk) set.disk_bytes += bytes;
  }
}

}  // namespace

ProgramSet joined_programs(std::vector<plan::Program> programs) {
  ProgramSet set{.programs = std::move(programs)};
  merge_slots(set);
  return set;
}

// A slot that lies twice is written by programs that know both places.
std::optional<std::string> misplaced_slot(const ProgramSet& set) {
  std::map<std::string_view, plan::SlotStorage> places;
  for (size_t i = 0; i < set.slots.size(); ++i) {
    places[set.slots[i].name] = set.places[i];
  }
  for (const plan::Program& program : set.programs) {
    std::vector<bool> written = written_slots(program);
    for (size_t i = 0; i < program.graph.slots().size(); ++i) {
      const std::string& name = program.graph.slots()[i].name;
      if (written[i] && program.slots[i] != places.at(name)) return name;
    }
  }
  return std::nullopt;
}

ProgramSet compile_programs(const OpTable& ops,
                            const std::vector<StepSpec>& specs,
                            const Target& target, const PlanRequest& request,
                            const PassObserver& observer) {
  ProgramSet set = Planner(ops, specs, target, request, observer).programs();
  for (size_t i = 0; observer && i < specs.size(); ++i) {
    observer({specs[i], kProgramPass, 0,
              [&] { return plan::print_program(set.programs[i]); }});
  }
  return set;
}

}  // namespace braid::compile
