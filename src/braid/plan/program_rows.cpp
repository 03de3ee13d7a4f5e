#include "braid/plan/program_rows.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "braid/plan/analysis.h"
#include "braid/plan/update_ahead.h"

namespace braid::plan {
namespace {

constexpr Activations kActivations[] = {
    Activations::kKeep, Activations::kRecompute, Activations::kOffload};
constexpr Parameters kParameters[] = {Parameters::kResident,
                                      Parameters::kSpilled};
constexpr Update kUpdates[] = {Update::kDevice, Update::kHost,
                               Update::kHostAhead};

// Those to choose from, and what else is given by hand. Updates that wait for
// nothing need not be ahead.
std::vector<Decision> all_decisions(const RowsRequest& request, bool waits) {
  std::vector<Decision> all;
  for (Activations a : kActivations) {
    for (Parameters p : kParameters) {
      for (Update u : kUpdates) {
        if (waits || u != Update::kHostAhead) all.push_back({a, p, u});
      }
    }
    if (!request.has_file) continue;
    all.push_back({a, Parameters::kFile, Update::kDevice});
    all.push_back({a, Parameters::kFile, Update::kHostFile});
  }
  for (const std::optional<Decision>& d : request.given.segments) {
    if (d && std::ranges::find(all, *d) == all.end()) all.push_back(*d);
  }
  return all;
}

// What one slot of the schedule, the forward or the backward part of a
// segment, does and holds when all segments do the same.
struct SlotCost {
  double compute_s = 0, in_s = 0, out_s = 0, host_s = 0;
  int64_t live_bytes = 0;               // of the arena, at the fullest moment
  int64_t in_bytes = 0, out_bytes = 0;  // fetched, evicted
};

using SlotOwners = std::map<std::string_view, int32_t>;

SlotOwners slot_owners(const OpTable& ops, const Graph& graph) {
  StepAnalysis analysis = analyse(ops, graph);
  SlotOwners owners;
  for (size_t i = 0; i < graph.slots().size(); ++i) {
    owners[graph.slots()[i].name] = analysis.slot_owner[i];
  }
  return owners;
}

// A program in which all segments do the same. Slot i is the forward part of
// segment i, slot 2n - 1 - i its backward part with the update.
class UniformProgram {
 public:
  // `owners`: segments of slots by name.
  UniformProgram(const Program& program, const SlotOwners& owners, size_t n,
                 const RowsRequest& request)
      : program_(program),
        request_(request),
        n_(n),
        slots_(2 * n),
        kept_(n, 0),
        late_(n, 0),
        host_(n, 0),
        resident_(n, 0) {
    find_slots();
    for (size_t u = 0; u < program.units.size(); ++u) add_unit(u);
    for (const Allocation& a : program.allocations) add_allocation(a);
    for (size_t i = 0; i < program.slots.size(); ++i) {
      add_slot(i, owners.at(program.graph.slots()[i].name));
    }
  }

  Mode mode(size_t segment, const Decision& decision) const {
    const SlotCost& f = slots_[segment];
    const SlotCost& b = slots_[backward(segment)];
    return {.name = decision_text(decision),
            .f = nanoseconds(f.compute_s),
            .b = nanoseconds(b.compute_s),
            .hf = nanoseconds(f.in_s),
            .hb = nanoseconds(b.in_s),
            .of = nanoseconds(f.out_s),
            .ob = nanoseconds(b.out_s),
            .u = nanoseconds(b.host_s),
            .res = resident_[segment] + (segment == 0 ? base_ : 0),
            .keep = kept_[segment],
            .wf = f.in_bytes,
            .wb = b.in_bytes,
            .lf = f.out_bytes,
            .lb = b.out_bytes,
            .xf = inside(segment),
            .xb = inside(backward(segment)),
            .grad = late_[segment],
            .host = host_[segment],
            .dep = decision.activations == Activations::kOffload};
  }

 private:
  static int64_t nanoseconds(double seconds) {
    return static_cast<int64_t>(std::llround(1e9 * seconds));
  }
  size_t backward(size_t segment) const { return 2 * n_ - 1 - segment; }

  // Parts outside any segment belong to the slot before.
  void find_slots() {
    size_t last = 0;
    for (const Unit& unit : program_.units) {
      auto segment = static_cast<size_t>(unit.segment);
      bool is_known = unit.segment >= 0 && segment < n_;
      if (is_known) {
        last = unit.phase == Phase::kForward ? segment : backward(segment);
      } else if (unit.phase != Phase::kForward) {
        last = std::max(last, n_);
      }
      slot_of_unit_.push_back(last);
    }
    slot_of_.resize(program_.instructions.size());
    for (size_t u = 0; u < program_.units.size(); ++u) {
      const Unit& unit = program_.units[u];
      for (int32_t i = unit.begin; i < unit.end; ++i) {
        slot_of_[static_cast<size_t>(i)] = slot_of_unit_[u];
      }
    }
  }

  bool is_update(const Unit& unit) const {
    return unit.begin >= program_.update_begin && unit.phase == Phase::kUpdate;
  }

  void add_unit(size_t number) {
    const Unit& unit = program_.units[number];
    SlotCost& slot = slots_[slot_of_unit_[number]];
    double times =
        is_update(unit) ? 1 : static_cast<double>(program_.num_passes());
    for (int32_t i = unit.begin; i < unit.end; ++i) {
      add_instruction(program_.instructions[static_cast<size_t>(i)], slot,
                      times);
    }
    if (is_update(unit)) {
      update_bytes_ = std::max(update_bytes_, unit.live_bytes);
    } else {
      slot.live_bytes = std::max(slot.live_bytes, unit.live_bytes);
    }
  }

  void add_instruction(const Instruction& i, SlotCost& slot,
                       double times) const {
    if (i.opcode == Opcode::kWait) return;
    double seconds = times * request_.durations(program_, i);
    switch (i.stream) {
      case Stream::kHostUpdate:
        (request_.sharing.cores ? slot.compute_s : slot.host_s) += seconds;
        return;
      case Stream::kHostToDevice:
      case Stream::kDisk: slot.in_s += seconds; break;
      case Stream::kDeviceToHost: slot.out_s += seconds; break;
      case Stream::kCompute:
      case Stream::kComm: slot.compute_s += seconds; break;
    }
    if (i.opcode == Opcode::kCopy) {
      slot.compute_s += seconds * request_.sharing.to_copies;
    }
    if (!i.moves_bytes()) return;
    bool comes_in = i.stream == Stream::kHostToDevice;
    const Allocation& moved =
        program_.allocation(comes_in ? i.target : i.source);
    if (moved.space != Space::kArena) return;
    (comes_in ? slot.in_bytes : slot.out_bytes) += moved.bytes;
  }

  void add_allocation(const Allocation& a) {
    auto last = static_cast<int32_t>(program_.instructions.size()) - 1;
    size_t begin = slot_of_[static_cast<size_t>(a.begin)];
    size_t end = slot_of_[static_cast<size_t>(a.end)];
    size_t segment = begin < n_ ? begin : backward(begin);
    // What only passes through host memory shares its place with others.
    bool stays = begin < n_ && end >= n_;
    bool is_late = begin >= n_ && a.begin < program_.update_begin &&
                   a.end >= program_.update_begin;
    if (a.space == Space::kHostArena && (stays || is_late)) {
      host_[segment] += a.bytes;
    }
    if (a.space != Space::kArena) return;
    if (a.begin == 0 && a.end == last) {
      base_ += a.bytes;
    } else if (stays) {
      kept_[segment] += a.bytes;
    } else if (is_late) {
      late_[segment] += a.bytes;
    }
  }

  void add_slot(size_t number, int32_t owner) {
    int64_t bytes = slot_bytes(program_.graph.slots()[number]);
    bool is_known = owner >= 0 && static_cast<size_t>(owner) < n_;
    size_t segment = is_known ? static_cast<size_t>(owner) : 0;
    if (program_.slots[number].device) resident_[segment] += bytes;
    if (program_.slots[number].host) host_[segment] += bytes;
  }

  // Bytes of a slot that no other field counts.
  int64_t inside(size_t slot) const {
    int64_t counted = base_ + slots_[slot].in_bytes;
    size_t segment = slot < n_ ? slot : backward(slot);
    for (size_t j = 0; j <= segment; ++j) counted += kept_[j];
    for (size_t j = n_; slot >= n_ && j-- > segment + 1;) counted += late_[j];
    int64_t live = slots_[slot].live_bytes;
    if (slot == 2 * n_ - 1) live = std::max(live, update_bytes_);
    // What leaves after the slot is in it until then, and so is what stays.
    int64_t leaves = slots_[slot].out_bytes - slots_[slot].in_bytes;
    int64_t stays = slot < n_ ? 0 : late_[segment] - kept_[segment];
    return std::max({live - counted, leaves, leaves + stays, int64_t{0}});
  }

  const Program& program_;
  const RowsRequest& request_;
  size_t n_;
  std::vector<size_t> slot_of_unit_, slot_of_;  // by unit, by instruction
  std::vector<SlotCost> slots_;
  // By segment: from its forward to its backward, from its backward to the
  // update part, on the host, all the time.
  std::vector<int64_t> kept_, late_, host_, resident_;
  int64_t base_ = 0;          // of the arena, all the time
  int64_t update_bytes_ = 0;  // of the arena, in the update part
};

bool is_wanted(const PartialPlan& given, const Decision& decision) {
  return std::ranges::any_of(
      given.segments,
      [&](const std::optional<Decision>& d) { return !d || *d == decision; });
}

}  // namespace

Plan ProgramRows::plan_of(const std::vector<int32_t>& modes, int depth) const {
  Plan plan = keep_all(decisions.size());
  plan.depth = depth;
  plan.order = order;
  for (size_t i = 0; i < decisions.size(); ++i) {
    plan.segments[i] = decisions[i][static_cast<size_t>(modes[i])];
  }
  return plan;
}

ProgramRows program_rows(const OpTable& ops, const passes::StepGraph& step,
                         const std::vector<std::string>& segments,
                         const RowsRequest& request) {
  const PartialPlan& given = request.given;
  size_t n = segments.size();
  ProgramRows rows;
  rows.order = request.order;
  rows.decisions.resize(n);
  for (const std::string& name : segments) {
    rows.instance.segments.push_back({.name = name, .modes = {}});
  }
  SlotOwners owners = slot_owners(ops, step.graph);
  // With micro-batches one after the other, gradients are whole when the norm
  // is.
  bool repeats =
      step.repeats_micro_part() && request.order == Order::kMicroBatches;
  bool waits = !repeats && has_waiting_updates(step);
  for (const Decision& decision : all_decisions(request, waits)) {
    if (!is_wanted(given, decision)) continue;
    Plan plan = uniform(n, decision, 0);
    plan.order = request.order;
    Program program = compile(ops, step, plan, request.workspace);
    UniformProgram uniform_program(program, owners, n, request);
    for (size_t i = 0; i < n; ++i) {
      if (given.segments[i] && *given.segments[i] != decision) continue;
      rows.instance.segments[i].modes.push_back(
          uniform_program.mode(i, decision));
      rows.decisions[i].push_back(decision);
    }
  }
  return rows;
}

}  // namespace braid::plan
