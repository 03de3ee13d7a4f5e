// The Emitter behind compile.h: from what is known of a step and a plan to the
// instructions. First it allocates everything (emitter_memory.cpp), then it
// emits one stage after the other (emitter.cpp, of updates on the host
// emitter_host.cpp, of slots in a file emitter_disk.cpp).
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "braid/plan/analysis.h"
#include "braid/plan/compile.h"

namespace braid::plan {

// What must be on the device for a stage, copied there from the host.
struct Fetch {
  int32_t source = kNone, target = kNone;
  BufferId buffer = kNone;  // of an offloaded activation
  SlotId staged = kNone;    // that is read from a file first
};

// What of a slot in a file lies in host memory for one stage.
struct Staged {
  int32_t allocation = kNone;
  int32_t read = kNone;     // event when its content is there
  int32_t changed = kNone;  // event when the host has updated it
};

class Emitter {
 public:
  Emitter(const OpTable& ops, passes::StepGraph step, const Plan& plan,
          const WorkspaceRule& workspace)
      : plan_(plan),
        workspace_(workspace),
        gradients_(std::move(step.gradients)),
        program_(std::move(step.graph)),
        graph_(program_.graph),
        analysis_(analyse(ops, graph_)),
        fetches_(analysis_.stages.size()),
        reads_(analysis_.stages.size()),
        offloads_(analysis_.stages.size()),
        departures_(analysis_.stages.size()),
        fetch_events_(analysis_.stages.size()) {
    program_.micro_batches = step.micro_batches;
    program_.is_unrolled = step.is_unrolled;
  }

  Program run() {
    allocate_slots();
    allocate_buffers();
    find_departures();
    count_fetches();
    schedule_reads();
    for (size_t p = 0; p < analysis_.stages.size(); ++p) emit_stage(p);
    drain();
    close_unit();
    finish();
    return std::move(program_);
  }

 private:
  // --- what is where -------------------------------------------------------
  void allocate_slots();
  void allocate_buffers();
  void allocate_offloaded(BufferId id);
  bool is_on_host_alone(const Buffer& buffer) const;
  int32_t staged_allocation(SlotId slot, size_t stage);
  int32_t allocate(Space space, int64_t bytes, std::string path,
                   SlotId slot = kNone);
  int32_t device_allocation(BufferId buffer, NodeId node);
  int32_t slot_allocation(SlotId slot, NodeId node);
  int32_t host_allocation(BufferId buffer, NodeId node);
  std::pair<BufferId, size_t> version(BufferId buffer, NodeId node) const;

  const Decision& decision(int32_t segment) const {
    static const Decision kDefault;
    if (segment < 0 || static_cast<size_t>(segment) >= plan_.segments.size()) {
      return kDefault;
    }
    return plan_.segments[static_cast<size_t>(segment)];
  }
  bool runs_on_host(const Node& node) const {
    const Op& op = *node.op;
    return (op.updates || op.follows_update) &&
           is_on_host(decision(node.segment).update);
  }
  bool is_made_on_host(ValueId value) const {
    NodeId producer = graph_.value(value).producer;
    return producer != kNone && runs_on_host(graph_.node(producer));
  }
  bool is_spilled(SlotId slot) const {
    return !program_.slots[static_cast<size_t>(slot)].device;
  }
  bool is_in_file(SlotId slot) const {
    return slot != kNone && program_.slots[static_cast<size_t>(slot)].disk;
  }

  // --- instructions --------------------------------------------------------
  void emit_stage(size_t p);
  void open_unit(const Stage& stage);
  void close_unit();
  void open_gate(size_t p);
  size_t last_fetched(size_t p) const;
  void issue_fetches(size_t p);
  void emit_node(NodeId id);
  void emit_host_node(NodeId id);
  int32_t host_operand(BufferId buffer, NodeId node,
                       std::vector<int32_t>& waits);
  int32_t host_result(BufferId buffer, NodeId node);
  int32_t host_scratch(const Node& node);
  void note_host_result(BufferId buffer, NodeId node, int32_t place,
                        int32_t event);
  void send_to_host(BufferId buffer, NodeId user, size_t stage);
  void find_departures();
  void count_fetches();
  void refresh(SlotId slot, int32_t host, int32_t event, size_t stage);
  bool frees_host_memory(const Node& node) const;
  void find_changes();
  void schedule_reads();
  void issue_reads(size_t p);
  void write_to_file(SlotId slot, size_t stage);
  void close_stage(size_t p);
  void drain();
  void finish();
  void find_gradients();
  int32_t evict(int32_t source, int32_t target, size_t stage);
  int32_t new_event(std::vector<int32_t> holds);
  void wait(int32_t event);
  void touch(int32_t allocation);
  int32_t push(Instruction instruction) {
    program_.instructions.push_back(std::move(instruction));
    return static_cast<int32_t>(program_.instructions.size()) - 1;
  }
  int32_t next_instruction() const {
    return static_cast<int32_t>(program_.instructions.size());
  }
  Allocation& at(int32_t id) {
    return program_.allocations[static_cast<size_t>(id)];
  }

  const Plan& plan_;
  const WorkspaceRule& workspace_;
  std::map<SlotId, ValueId> gradients_;
  Program program_;
  Graph& graph_;
  StepAnalysis analysis_;

  std::vector<int32_t> arena_of_;         // by buffer
  std::map<BufferId, int32_t> second_;    // offloaded: when it is back
  std::map<BufferId, size_t> away_from_;  // offloaded: first stage of return
  std::map<SlotId, int32_t> device_slot_, host_slot_, disk_slot_;
  std::map<std::pair<SlotId, size_t>, int32_t> fetched_slot_;  // by stage
  std::map<BufferId, int32_t> host_copy_;  // of offloaded activations
  std::map<std::pair<SlotId, size_t>, Staged> staged_;  // by stage
  // Operands of host updates: a copy of each content that a buffer has had,
  // and the event when it is there.
  struct HostOperand {
    int32_t allocation;
    int32_t event;
  };
  std::map<std::pair<BufferId, size_t>, HostOperand> host_operand_;

  std::vector<std::vector<Fetch>> fetches_;  // by stage
  std::vector<int64_t> fetch_bytes_;         // the same, before any is issued
  // Slots to read from the file when a stage opens, each for which stage.
  std::vector<std::vector<std::pair<SlotId, size_t>>> reads_;
  std::vector<std::vector<SlotId>> changes_;  // of slots in the file, by stage
  std::vector<std::vector<BufferId>> offloads_;  // by stage
  // What only updates on the host still read, each with the first of these, by
  // the stage that it leaves.
  std::vector<std::vector<std::pair<BufferId, NodeId>>> departures_;
  std::vector<std::vector<int32_t>> fetch_events_;  // by stage
  std::map<BufferId, int32_t> eviction_of_;         // event
  struct Eviction {
    int32_t event;
    int32_t source;
    size_t stage;
  };
  std::deque<Eviction> evictions_;  // not awaited yet, in order
  std::deque<Eviction> writes_;     // the same of what follows them on the host
  std::vector<std::vector<int32_t>> held_;  // by event: in use till then
  std::set<int32_t> awaited_;
  std::vector<int32_t> final_events_;  // host updates and refreshes
  int32_t host_scratch_ = kNone;       // they use it one after the other
};

}  // namespace braid::plan
