#include <algorithm>

#include "braid/plan/compiler.h"

namespace braid::plan {

void Compiler::find_stages() {
  stage_of_node_.resize(graph_.nodes().size());
  auto num_nodes = static_cast<NodeId>(graph_.nodes().size());
  for (NodeId id = 0; id < num_nodes; ++id) {
    const Node& node = graph_.node(id);
    bool fresh =
        stages_.empty() || stages_.back().phase != node.phase ||
        (stages_.back().segment != node.segment && !node.is(OpKind::kAssign));
    if (fresh) stages_.push_back({node.phase, node.segment, id, id});
    stages_.back().end = id + 1;
    stage_of_node_[static_cast<size_t>(id)] = stages_.size() - 1;
  }
  update_stage_ = stages_.size();
  for (size_t p = stages_.size(); p-- > 0;) {
    if (stages_[p].phase == Phase::kUpdate) update_stage_ = p;
  }
  fetches_.resize(stages_.size());
  offloads_.resize(stages_.size());
  fetch_events_.resize(stages_.size());
}

// A slot belongs to the segment that updates it, else to its first reader's.
void Compiler::find_slot_owners() {
  slot_owner_.assign(graph_.slots().size(), kNone);
  for (const Node& node : graph_.nodes()) {
    if (node.slot == kNone) continue;
    int32_t& owner = slot_owner_[static_cast<size_t>(node.slot)];
    if (owner == kNone) owner = node.segment;
    if (node.is(OpKind::kAssign)) owner = node.segment;
  }
}

void Compiler::place_slots() {
  for (size_t i = 0; i < graph_.slots().size(); ++i) {
    const Slot& slot = graph_.slots()[i];
    const Decision& d = decision(slot_owner_[i]);
    bool updated = gradients_.contains(static_cast<SlotId>(i));
    bool host_update = d.update == Update::kHost;
    SlotPlace where;
    if (slot.role == Role::kParameter) {
      bool spilled = d.parameters == Parameters::kSpilled;
      where = {!spilled, spilled || (host_update && updated)};
    } else if (slot.role == Role::kOptimizer) {
      where = {!host_update, host_update};
    }
    program_.slots.push_back(where);
    auto id = static_cast<SlotId>(i);
    int64_t bytes = slot_bytes(slot);
    if (where.device) {
      device_slot_[id] = new_place(Space::kDeviceSlot, bytes, slot.name, id);
    }
    if (where.host) {
      host_slot_[id] = new_place(Space::kHostSlot, bytes, slot.name, id);
    }
  }
}

int32_t Compiler::new_place(Space space, int64_t bytes, std::string path,
                            SlotId slot) {
  auto id = static_cast<int32_t>(program_.allocations.size());
  program_.allocations.push_back({.space = space,
                                  .bytes = bytes,
                                  .slot = slot,
                                  .path = std::move(path),
                                  .begin = kNone,
                                  .end = kNone});
  return id;
}

void Compiler::place_buffers() {
  place_of_.assign(buffers_.all.size(), kNone);
  for (size_t i = 0; i < buffers_.all.size(); ++i) {
    const Buffer& buffer = buffers_.all[i];
    auto id = static_cast<BufferId>(i);
    if (buffer.slot != kNone) {
      if (!is_spilled(buffer.slot)) continue;
      for (NodeId user : buffer.users) {
        const Node& node = graph_.node(user);
        if (runs_on_host(node) ||
            is_assigned_in_place(graph_, buffers_, node)) {
          continue;
        }
        slot_place(buffer.slot, user);
      }
      continue;
    }
    std::string path = buffer.writers.empty()
                           ? "(inputs)"
                           : graph_.node(buffer.writers[0]).path;
    place_of_[i] = new_place(Space::kArena, buffer.bytes, path);
    place_offloaded(id);
  }
}

// The place of a slot for a node: its storage, or where its stage fetches it.
int32_t Compiler::slot_place(SlotId slot, NodeId node) {
  if (!is_spilled(slot)) return device_slot_.at(slot);
  auto key = std::make_pair(slot, stage_of(node));
  auto at = fetched_slot_.find(key);
  if (at != fetched_slot_.end()) return at->second;
  const Slot& what = graph_.slot(slot);
  int32_t target = new_place(Space::kArena, slot_bytes(what), what.name);
  fetched_slot_[key] = target;
  fetches_[key.second].push_back(
      {.source = host_slot_.at(slot), .target = target});
  return target;
}

// Activations that leave the device between forward and backward.
void Compiler::place_offloaded(BufferId id) {
  const Buffer& buffer = buffers_.at(id);
  if (buffer.is_input || buffer.is_output || buffer.writers.empty() ||
      buffer.bytes == 0) {
    return;
  }
  const Node& maker = graph_.node(buffer.writers[0]);
  if (maker.phase != Phase::kForward ||
      decision(maker.segment).activations != Activations::kOffload) {
    return;
  }
  size_t last_forward = 0, first_backward = stages_.size();
  for (NodeId user : buffer.users) {
    size_t p = stage_of(user);
    if (stages_[p].phase == Phase::kForward) {
      last_forward = std::max(last_forward, p);
    } else {
      first_backward = std::min(first_backward, p);
    }
  }
  // Nothing is gained when it is needed again at once.
  if (first_backward == stages_.size() || first_backward <= last_forward + 1) {
    return;
  }
  int32_t host = new_place(Space::kHostArena, buffer.bytes, maker.path);
  int32_t back = new_place(Space::kArena, buffer.bytes, maker.path);
  host_copy_[id] = host;
  second_[id] = back;
  away_from_[id] = first_backward;
  offloads_[last_forward].push_back(id);
  fetches_[first_backward].push_back(
      {.source = host, .target = back, .buffer = id});
}

int32_t Compiler::device_place(BufferId buffer, NodeId node) {
  const Buffer& b = buffers_.at(buffer);
  if (b.slot != kNone) return slot_place(b.slot, node);
  auto away = away_from_.find(buffer);
  if (away != away_from_.end() && stage_of(node) >= away->second) {
    return second_.at(buffer);
  }
  return place_of_[static_cast<size_t>(buffer)];
}

// Where a host update finds an operand.
int32_t Compiler::host_place(BufferId buffer, NodeId node) {
  const Buffer& b = buffers_.at(buffer);
  if (b.slot != kNone && host_slot_.contains(b.slot)) {
    return host_slot_.at(b.slot);
  }
  return host_operand_.at(version(buffer, node)).place;
}

// A buffer as a node finds it: ops in place change what it holds.
std::pair<BufferId, size_t> Compiler::version(BufferId buffer,
                                              NodeId node) const {
  const auto& writers = buffers_.at(buffer).writers;
  auto before = std::lower_bound(writers.begin(), writers.end(), node);
  return {buffer, static_cast<size_t>(before - writers.begin())};
}

}  // namespace braid::plan
