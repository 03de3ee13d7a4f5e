#include "braid/plan/compile.h"

#include <algorithm>

#include "braid/plan/compiler.h"
#include "braid/plan/early_update.h"
#include "braid/plan/offsets.h"
#include "braid/plan/recompute.h"

namespace braid::plan {

void Compiler::touch(int32_t id) {
  if (id == kNone) return;
  Allocation& a = place(id);
  auto now = static_cast<int32_t>(program_.instructions.size());
  if (a.begin == kNone) a.begin = now;
  a.end = now;
}

void Compiler::run_stage(size_t p) {
  if (p == update_stage_) {
    if (program_.micro_batches > 1) drain();
    program_.update_begin = static_cast<int32_t>(program_.instructions.size());
  }
  open_gate(p);
  for (size_t q = p; q <= p + static_cast<size_t>(plan_.depth); ++q) {
    // A repeated micro part must not fetch for the update part.
    if (program_.micro_batches > 1 && p < update_stage_ && q >= update_stage_) {
      break;
    }
    if (q < stages_.size()) issue_fetches(q);
  }
  for (int32_t event : fetch_events_[p]) wait(event);
  for (NodeId id = stages_[p].begin; id < stages_[p].end; ++id) run_node(id);
  close_stage(p);
}

// Evictions of stages before p - depth are complete when stage p opens.
void Compiler::open_gate(size_t p) {
  auto depth = static_cast<size_t>(plan_.depth);
  while (!evictions_.empty() && evictions_.front().stage + depth < p) {
    wait(evictions_.front().event);
    evictions_.pop_front();
  }
}

void Compiler::issue_fetches(size_t q) {
  std::vector<Fetch> later;
  for (const Fetch& fetch : fetches_[q]) {
    int32_t after = kNone;
    if (fetch.buffer != kNone) {
      // An offloaded value can only come back after it left.
      auto left = eviction_of_.find(fetch.buffer);
      if (left == eviction_of_.end()) {
        later.push_back(fetch);
        continue;
      }
      after = left->second;
    }
    touch(fetch.target);
    touch(fetch.source);
    int32_t event = new_event({fetch.source, fetch.target});
    push({.kind = Kind::kFetch,
          .source = fetch.source,
          .target = fetch.target,
          .event = event,
          .after = after});
    fetch_events_[q].push_back(event);
  }
  fetches_[q] = std::move(later);
}

// An event until which places stay in use by another stream.
int32_t Compiler::new_event(std::vector<int32_t> holds) {
  held_.push_back(std::move(holds));
  return program_.num_events++;
}

void Compiler::wait(int32_t event) {
  if (!awaited_.insert(event).second) return;
  for (int32_t id : held_[static_cast<size_t>(event)]) touch(id);
  push({.kind = Kind::kWait, .event = event});
}

int32_t Compiler::evict(int32_t source, int32_t target, size_t stage) {
  touch(source);
  touch(target);
  int32_t event = new_event({source, target});
  push({.kind = Kind::kEvict,
        .source = source,
        .target = target,
        .event = event});
  evictions_.push_back({event, source, stage});
  return event;
}

void Compiler::run_node(NodeId id) {
  const Node& node = graph_.node(id);
  if (node.is(OpKind::kRead) || node.op->view ||
      is_assigned_in_place(graph_, buffers_, node)) {
    return;
  }
  if (runs_on_host(node)) return run_host_node(id);
  Call call{.node = id, .inputs = {}, .outputs = {}};
  for (ValueId input : node.inputs) {
    call.inputs.push_back(
        input == kNone ? kNone : device_place(buffers_.of(input), id));
  }
  for (ValueId output : node.outputs) {
    call.outputs.push_back(device_place(buffers_.of(output), id));
  }
  if (node.slot != kNone) call.outputs.push_back(slot_place(node.slot, id));
  // A place that is still being copied out must not be written.
  for (int32_t output : call.outputs) {
    for (const Eviction& e : evictions_) {
      if (e.source == output) wait(e.event);
    }
  }
  int64_t scratch = workspace_ ? workspace_(graph_, node) : 0;
  if (scratch > 0) {
    call.workspace = new_place(Space::kArena, scratch, node.path);
  }
  for (int32_t used : call.inputs) touch(used);
  for (int32_t used : call.outputs) touch(used);
  touch(call.workspace);
  auto number = static_cast<int32_t>(program_.calls.size());
  program_.calls.push_back(std::move(call));
  push({.kind = Kind::kRun, .call = number});
}

// Operands that are not on the host are brought there first; a parameter that
// also lives on the device is refreshed afterwards.
void Compiler::run_host_node(NodeId id) {
  const Node& node = graph_.node(id);
  size_t stage = stage_of(id);
  Call call{.node = id, .inputs = {}, .outputs = {}};
  int32_t after = kNone;
  for (ValueId input : node.inputs) {
    if (input == kNone) {
      call.inputs.push_back(kNone);
      continue;
    }
    BufferId b = buffers_.of(input);
    const Buffer& buffer = buffers_.at(b);
    bool on_host = buffer.slot != kNone && host_slot_.contains(buffer.slot);
    if (!on_host && !host_operand_.contains(version(b, id))) {
      int32_t copy = new_place(Space::kHostArena, buffer.bytes, node.path);
      int32_t event = evict(device_place(b, id), copy, stage);
      host_operand_[version(b, id)] = {copy, event};
    }
    if (!on_host) {
      after = std::max(after, host_operand_.at(version(b, id)).event);
    }
    call.inputs.push_back(host_place(b, id));
  }
  for (ValueId output : node.outputs) {
    call.outputs.push_back(host_place(buffers_.of(output), id));
  }
  for (int32_t used : call.inputs) touch(used);
  int32_t event = new_event(call.inputs);
  auto number = static_cast<int32_t>(program_.calls.size());
  std::vector<int32_t> written = call.outputs;
  program_.calls.push_back(std::move(call));
  push(
      {.kind = Kind::kHostRun, .call = number, .event = event, .after = after});
  final_events_.push_back(event);
  for (int32_t host : written) {
    SlotId slot = place(host).slot;
    auto device = device_slot_.find(slot);
    if (slot == kNone || device == device_slot_.end()) continue;
    int32_t refreshed = new_event({});
    push({.kind = Kind::kFetch,
          .source = host,
          .target = device->second,
          .event = refreshed,
          .after = event});
    final_events_.push_back(refreshed);
  }
}

// Offloaded activations leave, fetched slots that changed are written back.
void Compiler::close_stage(size_t p) {
  const Stage& stage = stages_[p];
  for (BufferId id : offloads_[p]) {
    eviction_of_[id] =
        evict(place_of_[static_cast<size_t>(id)], host_copy_.at(id), p);
  }
  for (NodeId id = stage.begin; id < stage.end; ++id) {
    const Node& node = graph_.node(id);
    if (!node.op->writes_slot || is_made_on_host(node.inputs[0])) {
      continue;
    }
    auto fetched = fetched_slot_.find({node.slot, p});
    if (fetched == fetched_slot_.end()) continue;
    evict(fetched->second, host_slot_.at(node.slot), p);
  }
}

// The step ends with all streams idle.
void Compiler::drain() {
  for (const Eviction& e : evictions_) wait(e.event);
  evictions_.clear();
  for (int32_t event : final_events_) wait(event);
  final_events_.clear();
}

void Compiler::finish() {
  auto last = static_cast<int32_t>(program_.instructions.size()) - 1;
  auto lives_on = [&](int32_t id) {
    place(id).begin = 0;
    place(id).end = last;
  };
  for (ValueId id : graph_.inputs()) {
    program_.input_places.push_back(
        place_of_[static_cast<size_t>(buffers_.of(id))]);
    lives_on(program_.input_places.back());
  }
  for (const Output& output : graph_.outputs()) {
    BufferId b = buffers_.of(output.value);
    const Buffer& buffer = buffers_.at(b);
    int32_t where = buffer.slot != kNone ? device_slot_.at(buffer.slot)
                                         : place_of_[static_cast<size_t>(b)];
    program_.output_places.push_back(where);
    place(where).end = last;
  }
  for (Allocation& a : program_.allocations) {
    if (a.begin == kNone) a.begin = a.end = 0;
  }
  std::multimap<ValueId, SlotId> parameter_of;  // by gradient
  for (auto [slot, value] : gradients_) parameter_of.emplace(value, slot);
  for (size_t i = 0; i < program_.calls.size(); ++i) {
    const Call& call = program_.calls[i];
    const Node& node = graph_.node(call.node);
    // The first node that reads a gradient for its update.
    bool clips = node.is(OpKind::kClipValue);
    if (!clips && !node.op->updates) continue;
    auto [first, last_of] =
        parameter_of.equal_range(node.inputs[clips ? 0 : 1]);
    for (auto at = first; at != last_of; ++at) {
      auto [value, slot] = *at;
      program_.gradients.push_back({slot, value,
                                    device_place(buffers_.of(value), call.node),
                                    static_cast<int32_t>(i)});
    }
  }
  program_.arena_bytes = place_allocations(program_.allocations, Space::kArena);
  program_.host_arena_bytes =
      place_allocations(program_.allocations, Space::kHostArena);
}

Program compile(const OpTable& ops, const passes::StepGraph& step,
                const Plan& plan, const WorkspaceRule& workspace) {
  if (plan.depth < 0 || plan.depth > 64) {
    fail_usage("[plan] depth {} is outside 0 to 64", plan.depth);
  }
  passes::StepGraph whole = update_early(ops, add_recompute(ops, step, plan));
  return Compiler(ops, std::move(whole), plan, workspace).run();
}

}  // namespace braid::plan
