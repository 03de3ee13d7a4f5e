// Updates on the host.
#include <algorithm>

#include "braid/plan/emitter.h"

namespace braid::plan {

// Operands that are not on the host are brought there first; a parameter that
// also lives on the device is refreshed afterwards.
void Emitter::emit_host_node(NodeId id) {
  const Node& node = graph_.node(id);
  size_t stage = analysis_.stage_of(id);
  PlannedCall call{.node = id, .inputs = {}, .outputs = {}};
  std::vector<int32_t> waits;
  for (ValueId input : node.inputs) {
    call.inputs.push_back(
        input == kNone ? kNone
                       : host_operand(analysis_.buffers.of(input), id, waits));
  }
  for (ValueId output : node.outputs) {
    call.outputs.push_back(host_result(analysis_.buffers.of(output), id));
  }
  call.workspace = host_scratch(node);
  std::vector<int32_t> used = call.inputs, written = call.outputs;
  used.insert(used.end(), written.begin(), written.end());
  if (call.workspace != kNone) used.push_back(call.workspace);
  for (int32_t place : used) touch(place);
  int32_t event = new_event(std::move(used));
  auto number = static_cast<int32_t>(program_.calls.size());
  program_.calls.push_back(std::move(call));
  push({.stream = Stream::kHostUpdate,
        .call = number,
        .event = event,
        .waits = std::move(waits)});
  if (frees_host_memory(node)) {
    writes_.push_back({event, kNone, stage});
  } else {
    final_events_.push_back(event);
  }
  for (size_t i = 0; i < written.size(); ++i) {
    BufferId b = analysis_.buffers.of(node.outputs[i]);
    note_host_result(b, id, written[i], event);
    bool is_last = analysis_.buffers.at(b).writers.back() == id;
    if (is_last) {
      refresh(analysis_.buffers.at(b).slot, written[i], event, stage);
    }
  }
}

int32_t Emitter::host_scratch(const Node& node) {
  int64_t bytes = workspace_ ? workspace_(graph_, node, true) : 0;
  if (bytes == 0) return kNone;
  if (host_scratch_ == kNone) {
    host_scratch_ = allocate(Space::kHostArena, 0, "updates");
  }
  at(host_scratch_).bytes = std::max(at(host_scratch_).bytes, bytes);
  return host_scratch_;
}

// Where the host finds a buffer; adds what it has to wait for.
int32_t Emitter::host_operand(BufferId b, NodeId id,
                              std::vector<int32_t>& waits) {
  const Buffer& buffer = analysis_.buffers.at(b);
  size_t stage = analysis_.stage_of(id);
  if (is_in_file(buffer.slot)) {
    waits.push_back(staged_.at({buffer.slot, stage}).read);
    return host_allocation(b, id);
  }
  if (buffer.slot != kNone && host_slot_.contains(buffer.slot)) {
    return host_allocation(b, id);
  }
  if (!host_operand_.contains(version(b, id))) send_to_host(b, id, stage);
  waits.push_back(host_operand_.at(version(b, id)).event);
  return host_allocation(b, id);
}

void Emitter::send_to_host(BufferId b, NodeId user, size_t stage) {
  int32_t copy = allocate(Space::kHostArena, analysis_.buffers.at(b).bytes,
                          graph_.node(user).path);
  int32_t event = evict(device_allocation(b, user), copy, stage);
  host_operand_[version(b, user)] = {copy, event};
}

// Gradients leave with the last stage that needs them on the device, not with
// the update that needs them on the host, which may be far.
void Emitter::find_departures() {
  for (size_t i = 0; i < analysis_.buffers.all.size(); ++i) {
    const Buffer& buffer = analysis_.buffers.all[i];
    if (buffer.slot != kNone || buffer.is_output || buffer.is_input) continue;
    NodeId reader = kNone;
    size_t last = 0, first = analysis_.stages.size();
    for (NodeId user : buffer.users) {
      size_t p = analysis_.stage_of(user);
      if (!runs_on_host(graph_.node(user))) {
        last = std::max(last, p);
      } else if (reader == kNone) {
        reader = user;
        first = p;
      }
    }
    bool repeats = !program_.is_one_part() && last < analysis_.update_stage;
    bool leaves = reader != kNone && last < first && !repeats &&
                  reader > buffer.writers.back();
    if (!leaves || is_on_host_alone(buffer)) continue;
    departures_[last].emplace_back(static_cast<BufferId>(i), reader);
  }
}

// Where a node on the host writes: where it found the buffer, or a new place.
int32_t Emitter::host_result(BufferId b, NodeId id) {
  SlotId slot = analysis_.buffers.at(b).slot;
  bool is_placed = slot != kNone || host_operand_.contains(version(b, id));
  if (is_placed) return host_allocation(b, id);
  return allocate(Space::kHostArena, analysis_.buffers.at(b).bytes,
                  graph_.node(id).path);
}

void Emitter::note_host_result(BufferId b, NodeId id, int32_t place,
                               int32_t event) {
  SlotId slot = analysis_.buffers.at(b).slot;
  if (is_in_file(slot)) {
    staged_.at({slot, analysis_.stage_of(id)}).changed = event;
  } else if (slot == kNone || !host_slot_.contains(slot)) {
    host_operand_[{b, version(b, id).second + 1}] = {place, event};
  }
}

void Emitter::refresh(SlotId slot, int32_t host, int32_t event, size_t stage) {
  auto device = device_slot_.find(slot);
  if (slot == kNone || device == device_slot_.end()) return;
  bool is_brief = at(host).space == Space::kHostArena;
  int32_t refreshed =
      new_event(is_brief ? std::vector{host} : std::vector<int32_t>());
  push({.opcode = Opcode::kCopy,
        .stream = Stream::kHostToDevice,
        .source = host,
        .target = device->second,
        .event = refreshed,
        .waits = {event}});
  if (is_brief) {
    writes_.push_back({refreshed, kNone, stage});
  } else {
    final_events_.push_back(refreshed);
  }
}

// Whether host memory must not be kept to the end of the step.
bool Emitter::frees_host_memory(const Node& node) const {
  const Decision& d = decision(node.segment);
  return d.update == Update::kHostFile || d.parameters == Parameters::kFile;
}

}  // namespace braid::plan
