// The Compiler behind compile.h: first where everything lies (in
// compiler_places.cpp), then the instructions of one stage after the other (in
// compile.cpp).
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "braid/plan/buffers.h"
#include "braid/plan/compile.h"

namespace braid::plan {

// Consecutive nodes of one phase and one segment.
struct Stage {
  Phase phase;
  int32_t segment;
  NodeId begin, end;
};

// What must be on the device for a stage, copied there from the host.
struct Fetch {
  int32_t source = kNone, target = kNone;
  BufferId buffer = kNone;  // of an offloaded activation
};

class Compiler {
 public:
  Compiler(const OpTable& ops, passes::StepGraph step, const Plan& plan,
           const WorkspaceRule& workspace)
      : plan_(plan),
        workspace_(workspace),
        gradients_(std::move(step.gradients)),
        program_(std::move(step.graph)),
        graph_(program_.graph),
        buffers_(find_buffers(ops, graph_)) {
    program_.micro_batches = step.micro_batches;
  }

  Program run() {
    find_stages();
    find_slot_owners();
    place_slots();
    place_buffers();
    for (size_t p = 0; p < stages_.size(); ++p) run_stage(p);
    drain();
    finish();
    return std::move(program_);
  }

 private:
  // --- what is where -------------------------------------------------------
  void find_stages();
  void find_slot_owners();
  void place_slots();
  void place_buffers();
  void place_offloaded(BufferId id);
  int32_t new_place(Space space, int64_t bytes, std::string path,
                    SlotId slot = kNone);
  int32_t device_place(BufferId buffer, NodeId node);
  int32_t slot_place(SlotId slot, NodeId node);
  int32_t host_place(BufferId buffer, NodeId node);
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
           decision(node.segment).update == Update::kHost;
  }
  bool is_made_on_host(ValueId value) const {
    NodeId producer = graph_.value(value).producer;
    return producer != kNone && runs_on_host(graph_.node(producer));
  }
  size_t stage_of(NodeId node) const {
    return stage_of_node_[static_cast<size_t>(node)];
  }
  bool is_spilled(SlotId slot) const {
    return !program_.slots[static_cast<size_t>(slot)].device;
  }

  // --- instructions --------------------------------------------------------
  void run_stage(size_t p);
  void open_gate(size_t p);
  void issue_fetches(size_t p);
  void run_node(NodeId id);
  void run_host_node(NodeId id);
  void close_stage(size_t p);
  void drain();
  void finish();
  int32_t evict(int32_t source, int32_t target, size_t stage);
  int32_t new_event(std::vector<int32_t> holds);
  void wait(int32_t event);
  void touch(int32_t place);
  int32_t push(Instruction instruction) {
    program_.instructions.push_back(instruction);
    return static_cast<int32_t>(program_.instructions.size()) - 1;
  }
  Allocation& place(int32_t id) {
    return program_.allocations[static_cast<size_t>(id)];
  }

  const Plan& plan_;
  const WorkspaceRule& workspace_;
  std::map<SlotId, ValueId> gradients_;
  Program program_;
  Graph& graph_;
  Buffers buffers_;

  std::vector<Stage> stages_;
  std::vector<size_t> stage_of_node_;
  size_t update_stage_ = 0;          // first stage of the update part
  std::vector<int32_t> slot_owner_;  // segment of each slot

  std::vector<int32_t> place_of_;         // by buffer: its arena place
  std::map<BufferId, int32_t> second_;    // offloaded: place when back
  std::map<BufferId, size_t> away_from_;  // offloaded: first stage of return
  std::map<SlotId, int32_t> device_slot_, host_slot_;
  std::map<std::pair<SlotId, size_t>, int32_t> fetched_slot_;  // by stage
  std::map<BufferId, int32_t> host_copy_;  // of offloaded activations
  // Operands of host updates: a copy of each content that a buffer has had,
  // and the event when it is there.
  struct HostOperand {
    int32_t place;
    int32_t event;
  };
  std::map<std::pair<BufferId, size_t>, HostOperand> host_operand_;

  std::vector<std::vector<Fetch>> fetches_;         // by stage
  std::vector<std::vector<BufferId>> offloads_;     // by stage
  std::vector<std::vector<int32_t>> fetch_events_;  // by stage
  std::map<BufferId, int32_t> eviction_of_;         // event
  struct Eviction {
    int32_t event;
    int32_t source;
    size_t stage;
  };
  std::deque<Eviction> evictions_;          // not awaited yet, in order
  std::vector<std::vector<int32_t>> held_;  // by event: places in use till then
  std::set<int32_t> awaited_;
  std::vector<int32_t> final_events_;  // host updates and refreshes
};

}  // namespace braid::plan
