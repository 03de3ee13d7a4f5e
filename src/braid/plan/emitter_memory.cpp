#include <algorithm>

#include "braid/plan/emitter.h"

namespace braid::plan {
namespace {

// A resident parameter that the host updates lies there too, unless host
// memory is to stay small: then it goes there for each update.
SlotStorage parameter_storage(const Decision& d, bool updated) {
  switch (d.parameters) {
    case Parameters::kResident:
      return {true, is_in_host_memory(d.update) && updated, false};
    case Parameters::kSpilled: return {false, true, false};
    case Parameters::kFile: return {false, false, true};
  }
  return {};
}

}  // namespace

void Emitter::allocate_slots() {
  for (size_t i = 0; i < graph_.slots().size(); ++i) {
    const Slot& slot = graph_.slots()[i];
    const Decision& d = decision(analysis_.slot_owner[i]);
    bool updated = gradients_.contains(static_cast<SlotId>(i));
    SlotStorage where;
    if (slot.role == Role::kParameter) {
      where = parameter_storage(d, updated);
    } else if (slot.role == Role::kOptimizer) {
      where = {d.update == Update::kDevice, is_in_host_memory(d.update),
               d.update == Update::kHostFile};
    }
    program_.slots.push_back(where);
    auto id = static_cast<SlotId>(i);
    int64_t bytes = slot_bytes(slot);
    if (where.device) {
      device_slot_[id] = allocate(Space::kDeviceSlot, bytes, slot.name, id);
    }
    if (where.host) {
      host_slot_[id] = allocate(Space::kHostSlot, bytes, slot.name, id);
    }
    if (where.disk) {
      disk_slot_[id] = allocate(Space::kDiskSlot, bytes, slot.name, id);
    }
  }
}

int32_t Emitter::allocate(Space space, int64_t bytes, std::string path,
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

void Emitter::allocate_buffers() {
  arena_of_.assign(analysis_.buffers.all.size(), kNone);
  for (size_t i = 0; i < analysis_.buffers.all.size(); ++i) {
    const Buffer& buffer = analysis_.buffers.all[i];
    auto id = static_cast<BufferId>(i);
    if (buffer.slot != kNone) {
      if (!is_spilled(buffer.slot)) continue;
      for (NodeId user : buffer.users) {
        const Node& node = graph_.node(user);
        if (is_assigned_in_place(graph_, analysis_.buffers, node)) continue;
        if (!runs_on_host(node)) {
          slot_allocation(buffer.slot, user);
        } else if (is_in_file(buffer.slot)) {
          staged_allocation(buffer.slot, analysis_.stage_of(user));
        }
      }
      continue;
    }
    if (is_on_host_alone(buffer)) continue;
    std::string path = buffer.writers.empty()
                           ? "(inputs)"
                           : graph_.node(buffer.writers[0]).path;
    arena_of_[i] = allocate(Space::kArena, buffer.bytes, path);
    allocate_offloaded(id);
  }
}

// What one update on the host leaves to another.
bool Emitter::is_on_host_alone(const Buffer& buffer) const {
  auto on_host = [&](NodeId id) { return runs_on_host(graph_.node(id)); };
  return !buffer.writers.empty() && !buffer.is_output &&
         std::ranges::all_of(buffer.users, on_host);
}

// The memory of a slot for a node: its storage, or where its stage fetches it.
int32_t Emitter::slot_allocation(SlotId slot, NodeId node) {
  if (!is_spilled(slot)) return device_slot_.at(slot);
  auto key = std::make_pair(slot, analysis_.stage_of(node));
  auto at = fetched_slot_.find(key);
  if (at != fetched_slot_.end()) return at->second;
  const Slot& what = graph_.slot(slot);
  int32_t target = allocate(Space::kArena, slot_bytes(what), what.name);
  fetched_slot_[key] = target;
  bool in_file = is_in_file(slot);
  int32_t source =
      in_file ? staged_allocation(slot, key.second) : host_slot_.at(slot);
  fetches_[key.second].push_back(
      {.source = source, .target = target, .staged = in_file ? slot : kNone});
  return target;
}

// Activations that leave the device between forward and backward.
void Emitter::allocate_offloaded(BufferId id) {
  const Buffer& buffer = analysis_.buffers.at(id);
  if (buffer.is_input || buffer.is_output || buffer.writers.empty() ||
      buffer.bytes == 0) {
    return;
  }
  const Node& maker = graph_.node(buffer.writers[0]);
  if (maker.phase != Phase::kForward ||
      decision(maker.segment).activations != Activations::kOffload) {
    return;
  }
  size_t last_forward = 0, first_backward = analysis_.stages.size();
  for (NodeId user : buffer.users) {
    size_t p = analysis_.stage_of(user);
    if (analysis_.stages[p].phase == Phase::kForward) {
      last_forward = std::max(last_forward, p);
    } else {
      first_backward = std::min(first_backward, p);
    }
  }
  // Nothing is gained when it is needed again at once.
  if (first_backward == analysis_.stages.size() ||
      first_backward <= last_forward + 1) {
    return;
  }
  int32_t host = allocate(Space::kHostArena, buffer.bytes, maker.path);
  int32_t back = allocate(Space::kArena, buffer.bytes, maker.path);
  host_copy_[id] = host;
  second_[id] = back;
  away_from_[id] = first_backward;
  offloads_[last_forward].push_back(id);
  fetches_[first_backward].push_back(
      {.source = host, .target = back, .buffer = id});
}

int32_t Emitter::device_allocation(BufferId buffer, NodeId node) {
  const Buffer& b = analysis_.buffers.at(buffer);
  if (b.slot != kNone) return slot_allocation(b.slot, node);
  auto away = away_from_.find(buffer);
  if (away != away_from_.end() && analysis_.stage_of(node) >= away->second) {
    return second_.at(buffer);
  }
  return arena_of_[static_cast<size_t>(buffer)];
}

// Where a host update finds an operand.
int32_t Emitter::host_allocation(BufferId buffer, NodeId node) {
  const Buffer& b = analysis_.buffers.at(buffer);
  if (is_in_file(b.slot)) {
    return staged_.at({b.slot, analysis_.stage_of(node)}).allocation;
  }
  if (b.slot != kNone && host_slot_.contains(b.slot)) {
    return host_slot_.at(b.slot);
  }
  return host_operand_.at(version(buffer, node)).allocation;
}

// A buffer as a node finds it: ops in place change what it holds.
std::pair<BufferId, size_t> Emitter::version(BufferId buffer,
                                             NodeId node) const {
  const auto& writers = analysis_.buffers.at(buffer).writers;
  auto before = std::lower_bound(writers.begin(), writers.end(), node);
  return {buffer, static_cast<size_t>(before - writers.begin())};
}

}  // namespace braid::plan
