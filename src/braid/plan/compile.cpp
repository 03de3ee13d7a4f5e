#include "braid/plan/compile.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "braid/plan/buffers.h"
#include "braid/plan/early_update.h"
#include "braid/plan/offsets.h"
#include "braid/plan/recompute.h"

namespace braid::plan {
namespace {

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
      : ops_(ops),
        plan_(plan),
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
    const Op& op = ops_.at(node.op);
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

  const OpTable& ops_;
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

void Compiler::find_stages() {
  stage_of_node_.resize(graph_.nodes().size());
  auto num_nodes = static_cast<NodeId>(graph_.nodes().size());
  for (NodeId id = 0; id < num_nodes; ++id) {
    const Node& node = graph_.node(id);
    bool fresh =
        stages_.empty() || stages_.back().phase != node.phase ||
        (stages_.back().segment != node.segment && node.op != "assign");
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
    if (node.op == "assign") owner = node.segment;
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
  if (node.op == "read" || ops_.at(node.op).view ||
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
    if (!ops_.at(node.op).writes_slot || is_made_on_host(node.inputs[0])) {
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
  for (size_t i = 0; i < program_.calls.size(); ++i) {
    const Call& call = program_.calls[i];
    const Node& node = graph_.node(call.node);
    // The first node that reads a gradient for its update.
    bool clips = node.op == "clip_value";
    if (!clips && !ops_.at(node.op).updates) continue;
    for (auto [slot, value] : gradients_) {
      if (node.inputs[clips ? 0 : 1] != value) continue;
      program_.gradients.push_back({slot, value,
                                    device_place(buffers_.of(value), call.node),
                                    static_cast<int32_t>(i)});
    }
  }
  program_.arena_bytes = place_allocations(program_.allocations, Space::kArena);
  program_.host_arena_bytes =
      place_allocations(program_.allocations, Space::kHostArena);
}

}  // namespace

Program compile(const OpTable& ops, const passes::StepGraph& step,
                const Plan& plan, const WorkspaceRule& workspace) {
  if (plan.depth < 0 || plan.depth > 64) {
    fail_usage("[plan] depth {} is outside 0 to 64", plan.depth);
  }
  passes::StepGraph whole = update_early(ops, add_recompute(ops, step, plan));
  return Compiler(ops, std::move(whole), plan, workspace).run();
}

}  // namespace braid::plan
