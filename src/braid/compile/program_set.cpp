#include "braid/compile/program_set.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "braid/base/error.h"
#include "braid/plan/program_text.h"

namespace braid::compile {
namespace {

using plan::Activations;
using plan::Decision;
using plan::Parameters;
using plan::Update;

// The same decision for all segments.
struct UniformPlan {
  Decision decision;
  int depth;  // of prefetching
};

// From fastest to smallest.
std::vector<UniformPlan> uniform_plans() {
  const Decision steps[] = {
      {},
      {Activations::kRecompute, Parameters::kResident, Update::kDevice},
      {Activations::kOffload, Parameters::kResident, Update::kDevice},
      {Activations::kRecompute, Parameters::kResident, Update::kHost},
      {Activations::kRecompute, Parameters::kSpilled, Update::kDevice},
      {Activations::kOffload, Parameters::kSpilled, Update::kHost},
      {Activations::kRecompute, Parameters::kSpilled, Update::kHost},
  };
  std::vector<UniformPlan> plans;
  for (const Decision& d : steps) {
    for (int depth : {1, 0}) plans.push_back({d, depth});
  }
  return plans;
}

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

// A slot that lies twice is written by programs that know both places.
void check_places(const ProgramSet& set,
                  const std::map<std::string, size_t>& known) {
  for (const plan::Program& program : set.programs) {
    std::vector<bool> written = written_slots(program);
    for (size_t i = 0; i < program.graph.slots().size(); ++i) {
      const std::string& name = program.graph.slots()[i].name;
      plan::SlotStorage here = program.slots[i],
                        all = set.places[known.at(name)];
      bool same = here.device == all.device && here.host == all.host;
      if (same || !written[i]) continue;
      fail_usage("[plan] programs keep '{}' in different places", name);
    }
  }
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
    }
  }
  set.peak_bytes = set.arena_bytes;
  for (size_t i = 0; i < set.slots.size(); ++i) {
    if (set.places[i].device) set.peak_bytes += plan::slot_bytes(set.slots[i]);
  }
  check_places(set, known);
}

constexpr std::string_view kPlanHint =
    "recompute, offload or spill more segments, or give no plan: the first "
    "that "
    "fits is taken;\n  a smaller batch_size, accumulate: 2 and precision: bf16 "
    "help too";

// Of the program with the largest arena; the others only add slots.
std::string limit_report(const ProgramSet& set, int64_t limit_bytes,
                         std::string_view hint = plan::kMemoryHint) {
  auto largest = std::ranges::max_element(
      set.programs, {},
      [](const plan::Program& program) { return program.peak_bytes(); });
  int64_t others = set.peak_bytes - largest->peak_bytes();
  return plan::limit_report(*largest, limit_bytes, others, hint);
}

class SetCompiler {
 public:
  SetCompiler(const OpTable& ops, const std::vector<StepSpec>& specs,
              const Target& target, const PassObserver& observer)
      : ops_(ops), target_(target) {
    for (const StepSpec& spec : specs) {
      steps_.push_back(build_step(ops, spec, target, observer));
    }
  }

  ProgramSet run(const PlanRequest& request) {
    if (request.named) {
      return with_plan(plan::resolve(*request.named, steps_[0].segments));
    }
    check_plan(request.plan);
    bool is_given = !request.plan.segments.empty() || !request.fit_to_limit;
    return is_given ? with_plan(request.plan) : smaller_and_smaller();
  }

 private:
  void check_plan(const plan::Plan& plan) const {
    size_t expected = steps_[0].segments.size(), given = plan.segments.size();
    if (given == 0 || given == expected) return;
    fail_usage("[plan] the model has {} segments, the plan {}", expected,
               given);
  }

  template <class Make>
  ProgramSet with_plans(const Make& plan_for) const {
    ProgramSet set;
    for (const BuiltStep& built : steps_) {
      plan::Plan plan = plan_for(built.segments.size());
      set.programs.push_back(
          plan::compile(ops_, built.step, plan, target_.workspace));
      if (set.programs.size() == 1) set.plan = std::move(plan);
    }
    merge_slots(set);
    return set;
  }

  bool fits(const ProgramSet& set) const {
    return set.peak_bytes <= target_.limit_bytes;
  }

  ProgramSet with_plan(const plan::Plan& plan) const {
    ProgramSet set = with_plans([&](size_t segments) {
      return plan.segments.size() == segments ? plan : plan::keep_all(segments);
    });
    if (fits(set)) return set;
    fail_world("{}", limit_report(set, target_.limit_bytes, kPlanHint));
  }

  ProgramSet smaller_and_smaller() const {
    std::optional<int64_t> least;
    std::string report;
    for (const UniformPlan& plan : uniform_plans()) {
      ProgramSet set = with_plans([&](size_t segments) {
        return plan::uniform(segments, plan.decision, plan.depth);
      });
      if (fits(set)) return set;
      if (least && set.peak_bytes >= *least) continue;
      least = set.peak_bytes;
      report = limit_report(set, target_.limit_bytes);
    }
    fail_world("{}", report);
  }

  const OpTable& ops_;
  const Target& target_;
  std::vector<BuiltStep> steps_;
};

}  // namespace

ProgramSet compile_programs(const OpTable& ops,
                            const std::vector<StepSpec>& specs,
                            const Target& target, const PlanRequest& request,
                            const PassObserver& observer) {
  ProgramSet set = SetCompiler(ops, specs, target, observer).run(request);
  for (size_t i = 0; observer && i < specs.size(); ++i) {
    observer({specs[i], kProgramPass, 0,
              [&] { return plan::print_program(set.programs[i]); }});
  }
  return set;
}

}  // namespace braid::compile
