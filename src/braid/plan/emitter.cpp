#include "braid/plan/emitter.h"

#include <algorithm>

#include "braid/plan/offsets.h"

namespace braid::plan {

void Emitter::touch(int32_t id) {
  if (id == kNone) return;
  Allocation& a = at(id);
  int32_t now = next_instruction();
  if (a.begin == kNone) a.begin = now;
  a.end = now;
}

void Emitter::emit_stage(size_t p) {
  if (p == analysis_.update_stage) {
    if (!program_.is_one_part()) drain();
    close_unit();
    program_.update_begin = next_instruction();
  }
  open_unit(analysis_.stages[p]);
  open_gate(p);
  issue_reads(p);
  for (size_t q = p; q <= last_fetched(p); ++q) issue_fetches(q);
  for (int32_t event : fetch_events_[p]) wait(event);
  for (NodeId id = analysis_.stages[p].begin; id < analysis_.stages[p].end;
       ++id)
    emit_node(id);
  close_stage(p);
}

// Evictions of stages before p - depth are complete when stage p opens, and
// what the host does with them before p - 2 depth.
void Emitter::open_gate(size_t p) {
  auto depth = static_cast<size_t>(plan_.depth);
  auto await = [&](std::deque<Eviction>& open, size_t stages) {
    while (!open.empty() && open.front().stage + stages < p) {
      wait(open.front().event);
      open.pop_front();
    }
  };
  await(evictions_, depth);
  await(writes_, 2 * depth);
}

void Emitter::count_fetches() {
  for (const std::vector<Fetch>& fetches : fetches_) {
    int64_t& bytes = fetch_bytes_.emplace_back(0);
    for (const Fetch& fetch : fetches) bytes += at(fetch.target).bytes;
  }
}

// The last stage whose fetches are issued when stage p opens.
size_t Emitter::last_fetched(size_t p) const {
  // A repeated micro part must not fetch for the update part.
  bool repeats = !program_.is_one_part() && p < analysis_.update_stage;
  size_t end = repeats ? analysis_.update_stage : analysis_.stages.size();
  size_t last = std::min(p + static_cast<size_t>(plan_.depth), end - 1);
  int64_t ahead = 0;
  for (size_t q = p + 1; q <= last; ++q) {
    ahead += fetch_bytes_[q];
    if (ahead > plan_.buffer_bytes) return q - 1;
  }
  return last;
}

void Emitter::issue_fetches(size_t q) {
  std::vector<Fetch> later;
  for (const Fetch& fetch : fetches_[q]) {
    std::vector<int32_t> waits;
    if (fetch.buffer != kNone) {
      // An offloaded value can only come back after it left.
      auto left = eviction_of_.find(fetch.buffer);
      if (left == eviction_of_.end()) {
        later.push_back(fetch);
        continue;
      }
      waits.push_back(left->second);
    }
    if (fetch.staged != kNone) {
      const Staged& staged = staged_.at({fetch.staged, q});
      if (staged.read == kNone) {
        later.push_back(fetch);
        continue;
      }
      waits.push_back(staged.read);
    }
    touch(fetch.target);
    touch(fetch.source);
    int32_t event = new_event({fetch.source, fetch.target});
    push({.opcode = Opcode::kCopy,
          .stream = Stream::kHostToDevice,
          .source = fetch.source,
          .target = fetch.target,
          .event = event,
          .waits = std::move(waits)});
    fetch_events_[q].push_back(event);
  }
  fetches_[q] = std::move(later);
}

// An event until which places stay in use by another stream.
int32_t Emitter::new_event(std::vector<int32_t> holds) {
  held_.push_back(std::move(holds));
  return program_.num_events++;
}

void Emitter::wait(int32_t event) {
  if (!awaited_.insert(event).second) return;
  for (int32_t id : held_[static_cast<size_t>(event)]) touch(id);
  push({.opcode = Opcode::kWait, .waits = {event}});
}

int32_t Emitter::evict(int32_t source, int32_t target, size_t stage) {
  touch(source);
  touch(target);
  int32_t event = new_event({source, target});
  push({.opcode = Opcode::kCopy,
        .stream = Stream::kDeviceToHost,
        .source = source,
        .target = target,
        .event = event});
  evictions_.push_back({event, source, stage});
  return event;
}

void Emitter::emit_node(NodeId id) {
  const Node& node = graph_.node(id);
  if (node.is(OpKind::kRead) || node.op->view ||
      is_assigned_in_place(graph_, analysis_.buffers, node)) {
    return;
  }
  if (runs_on_host(node)) return emit_host_node(id);
  PlannedCall call{.node = id, .inputs = {}, .outputs = {}};
  for (ValueId input : node.inputs) {
    call.inputs.push_back(
        input == kNone ? kNone
                       : device_allocation(analysis_.buffers.of(input), id));
  }
  for (ValueId output : node.outputs) {
    call.outputs.push_back(device_allocation(analysis_.buffers.of(output), id));
  }
  if (node.slot != kNone)
    call.outputs.push_back(slot_allocation(node.slot, id));
  // A place that is still being copied out must not be written.
  for (int32_t output : call.outputs) {
    for (const Eviction& e : evictions_) {
      if (e.source == output) wait(e.event);
    }
  }
  int64_t scratch = workspace_ ? workspace_(graph_, node, false) : 0;
  if (scratch > 0) {
    call.workspace = allocate(Space::kArena, scratch, node.path);
  }
  for (int32_t used : call.inputs) touch(used);
  for (int32_t used : call.outputs) touch(used);
  touch(call.workspace);
  auto number = static_cast<int32_t>(program_.calls.size());
  program_.calls.push_back(std::move(call));
  push({.call = number});
}

// Offloaded activations leave, fetched slots that changed are written back.
void Emitter::close_stage(size_t p) {
  const Stage& stage = analysis_.stages[p];
  for (BufferId id : offloads_[p]) {
    eviction_of_[id] =
        evict(arena_of_[static_cast<size_t>(id)], host_copy_.at(id), p);
  }
  for (auto [buffer, reader] : departures_[p]) {
    send_to_host(buffer, reader, p);
  }
  for (NodeId id = stage.begin; id < stage.end; ++id) {
    const Node& node = graph_.node(id);
    if (!node.op->writes_slot || is_in_file(node.slot) ||
        is_made_on_host(node.inputs[0])) {
      continue;
    }
    auto fetched = fetched_slot_.find({node.slot, p});
    if (fetched == fetched_slot_.end()) continue;
    evict(fetched->second, host_slot_.at(node.slot), p);
  }
  for (SlotId slot : changes_[p]) write_to_file(slot, p);
}

// The step ends with all streams idle.
void Emitter::drain() {
  for (const auto* open : {&evictions_, &writes_}) {
    for (const Eviction& e : *open) wait(e.event);
  }
  evictions_.clear();
  writes_.clear();
  for (int32_t event : final_events_) wait(event);
  final_events_.clear();
}

void Emitter::finish() {
  int32_t last = next_instruction() - 1;
  auto lives_on = [&](int32_t id) {
    at(id).begin = 0;
    at(id).end = last;
  };
  for (ValueId id : graph_.inputs()) {
    program_.inputs.push_back(
        arena_of_[static_cast<size_t>(analysis_.buffers.of(id))]);
    lives_on(program_.inputs.back());
  }
  for (const Output& output : graph_.outputs()) {
    BufferId b = analysis_.buffers.of(output.value);
    const Buffer& buffer = analysis_.buffers.at(b);
    int32_t where = buffer.slot != kNone ? device_slot_.at(buffer.slot)
                                         : arena_of_[static_cast<size_t>(b)];
    program_.outputs.push_back(where);
    at(where).end = last;
  }
  for (Allocation& a : program_.allocations) {
    if (a.begin == kNone) a.begin = a.end = 0;
  }
  find_gradients();
  program_.arena_bytes = place_allocations(program_.allocations, Space::kArena);
  program_.host_arena_bytes =
      place_allocations(program_.allocations, Space::kHostArena);
  measure_units(program_);
}

// Of each gradient, the first call that reads it whole, and where: an update on
// the host reads a copy, when what it lay in on the device may be others'.
void Emitter::find_gradients() {
  std::multimap<ValueId, SlotId> parameters;  // by gradient
  for (auto [slot, value] : gradients_) parameters.emplace(value, slot);
  for (size_t i = 0; i < program_.calls.size(); ++i) {
    const PlannedCall& call = program_.calls[i];
    const std::vector<ValueId>& inputs = graph_.node(call.node).inputs;
    for (size_t k = 0; k < inputs.size(); ++k) {
      auto [first, last] = parameters.equal_range(inputs[k]);
      for (auto [value, slot] : std::ranges::subrange(first, last)) {
        program_.gradients.push_back(
            {slot, value, call.inputs[k], static_cast<int32_t>(i)});
      }
      parameters.erase(first, last);
    }
  }
}

void Emitter::open_unit(const Stage& stage) {
  close_unit();
  program_.units.push_back({.phase = stage.phase,
                            .segment = stage.segment,
                            .begin = next_instruction()});
}

// The last unit ends here.
void Emitter::close_unit() {
  if (program_.units.empty()) return;
  program_.units.back().end = next_instruction();
}

}  // namespace braid::plan
