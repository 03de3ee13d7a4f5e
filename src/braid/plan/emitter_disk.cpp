// Slots in a file. A stage finds them in host memory: they are read ahead of
// it, and written back once they have changed. All reads and writes are on one
// stream, so a read that is issued after a write sees what was written.
#include <algorithm>

#include "braid/plan/emitter.h"

namespace braid::plan {

int32_t Emitter::staged_allocation(SlotId slot, size_t stage) {
  auto [at, is_new] = staged_.try_emplace({slot, stage});
  if (is_new) {
    const Slot& what = graph_.slot(slot);
    at->second.allocation =
        allocate(Space::kHostArena, slot_bytes(what), what.name);
  }
  return at->second.allocation;
}

// By stage, the slots in the file that it leaves with another content.
void Emitter::find_changes() {
  changes_.resize(analysis_.stages.size());
  for (size_t p = 0; p < analysis_.stages.size(); ++p) {
    const Stage& stage = analysis_.stages[p];
    std::set<SlotId> changed;
    for (NodeId id = stage.begin; id < stage.end; ++id) {
      const Node& node = graph_.node(id);
      if (node.is(OpKind::kRead) || node.op->view) continue;
      for (ValueId output : node.outputs) {
        changed.insert(analysis_.buffers.at(analysis_.buffers.of(output)).slot);
      }
      bool is_done = is_assigned_in_place(graph_, analysis_.buffers, node);
      if (node.op->writes_slot && !is_done) changed.insert(node.slot);
    }
    std::erase_if(changed, [&](SlotId slot) { return !is_in_file(slot); });
    changes_[p] = {changed.begin(), changed.end()};
  }
}

// A read is issued `depth` stages before its copy to the device, or before
// the update on the host: never before a stage that changes the slot.
void Emitter::schedule_reads() {
  find_changes();
  auto depth = static_cast<size_t>(plan_.depth);
  for (const auto& [key, unused] : staged_) {
    auto [slot, stage] = key;
    size_t ahead = fetched_slot_.contains(key) ? 2 * depth : depth;
    bool in_update = !program_.is_one_part() && stage >= analysis_.update_stage;
    size_t first = in_update ? analysis_.update_stage : 0;
    first = std::max(first, stage - std::min(stage, ahead));
    for (size_t p = first; p < stage; ++p) {
      if (std::ranges::count(changes_[p], slot) > 0) first = p + 1;
    }
    reads_[first].push_back(key);
  }
  for (auto& keys : reads_) {
    std::ranges::stable_sort(keys, {}, &std::pair<SlotId, size_t>::second);
  }
}

void Emitter::issue_reads(size_t p) {
  for (const auto& key : reads_[p]) {
    Staged& staged = staged_.at(key);
    int32_t source = disk_slot_.at(key.first);
    touch(source);
    touch(staged.allocation);
    staged.read = new_event({});
    push({.opcode = Opcode::kDiskRead,
          .stream = Stream::kDisk,
          .source = source,
          .target = staged.allocation,
          .event = staged.read});
    final_events_.push_back(staged.read);
  }
}

// From where an update has left the content: on the host, or on the device.
void Emitter::write_to_file(SlotId slot, size_t stage) {
  auto staged = staged_.find({slot, stage});
  bool on_host = staged != staged_.end() && staged->second.changed != kNone;
  int32_t source = kNone, made = kNone;
  if (on_host) {
    source = staged->second.allocation;
    made = staged->second.changed;
  } else {
    const Slot& what = graph_.slot(slot);
    source = allocate(Space::kHostArena, slot_bytes(what), what.name);
    made = evict(fetched_slot_.at({slot, stage}), source, stage);
  }
  int32_t target = disk_slot_.at(slot);
  touch(source);
  touch(target);
  int32_t event = new_event({source});
  push({.opcode = Opcode::kDiskWrite,
        .stream = Stream::kDisk,
        .source = source,
        .target = target,
        .event = event,
        .waits = {made}});
  writes_.push_back({event, source, stage});
}

}  // namespace braid::plan
