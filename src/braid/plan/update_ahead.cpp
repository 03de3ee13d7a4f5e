#include "braid/plan/update_ahead.h"

#include <map>

#include "braid/ops/build/functions.h"
#include "braid/ops/core/update_kinds.h"

namespace braid::plan {
namespace {

constexpr const char* kRare = "rare";

// An optional input of an update.
ValueId input_at(const Node& update, size_t place) {
  return place < update.inputs.size() ? update.inputs[place] : kNone;
}

ValueId scale_of(const Node& update) {
  return input_at(update, update.op->update_kind->scale_input());
}
ValueId keep_of(const Node& update) {
  return input_at(update, update.op->update_kind->keep_input());
}

// Whether a value is made in the update part, by more than reading a slot.
bool is_made_late(const Graph& graph, ValueId value) {
  if (value == kNone) return false;
  const Node& maker = graph.node(graph.value(value).producer);
  return maker.phase == Phase::kUpdate && !maker.is(OpKind::kRead);
}

bool waits(const Graph& graph, const Node& node) {
  return node.op->update_kind && node.phase == Phase::kUpdate &&
         (is_made_late(graph, scale_of(node)) ||
          is_made_late(graph, keep_of(node)));
}

class AheadUpdater {
 public:
  explicit AheadUpdater(Graph& graph)
      : graph_(graph),
        users_(graph),
        num_old_(static_cast<NodeId>(graph.nodes().size())) {}

  bool runs(NodeId id) const { return waits(graph_, graph_.node(id)); }

  void run(NodeId id) {
    NodeId begin = next();
    const Node update = graph_.node(id);  // as it was
    graph_.continue_at(update);
    std::vector<size_t> places = places_of(update);
    std::vector<ValueId> aside = set_aside(update, places);
    update_now(update, places);
    auto [redoes, keep] = what_is_redone(update);
    before_[id] = {begin, next()};
    begin = next();
    redo(id, places, aside, keep);
    take_back(id, update, places, redoes);
    after_[id] = {begin, next()};
  }

  void reorder() {
    std::vector<NodeId> order;
    auto put = [&](const std::map<NodeId, Range>& ranges, NodeId id) {
      auto range = ranges.find(id);
      if (range == ranges.end()) return;
      for (NodeId n = range->second.begin; n < range->second.end; ++n) {
        order.push_back(n);
      }
    };
    for (NodeId id = 0; id < num_old_; ++id) {
      put(before_, id);
      order.push_back(id);
      put(after_, id);
    }
    graph_.reorder(order);
  }

 private:
  struct Range {
    NodeId begin = 0, end = 0;
  };

  NodeId next() const { return static_cast<NodeId>(graph_.nodes().size()); }

  // Inputs that are updated: the parameter and its states. Their outputs are
  // in the same order.
  static std::vector<size_t> places_of(const Node& update) {
    std::vector<size_t> places{0};
    for (size_t k = 2; k < update.op->update_kind->step_input(); ++k) {
      if (update.inputs[k] != kNone) places.push_back(k);
    }
    return places;
  }

  SlotId slot_of(ValueId content) const {
    return graph_.node(graph_.value(content).producer).slot;
  }

  std::vector<ValueId> set_aside(const Node& update,
                                 const std::vector<size_t>& places) {
    std::vector<ValueId> aside;
    for (size_t place : places) {
      NodeId id = graph_.add("set_aside", {update.inputs[place]});
      aside.push_back(graph_.node(id).outputs[0]);
    }
    return aside;
  }

  // As if nothing had to be clipped or skipped.
  void update_now(const Node& update, const std::vector<size_t>& places) {
    std::vector<ValueId> inputs = update.inputs;
    inputs.resize(update.op->update_kind->scale_input());
    NodeId id = graph_.add_like(update, std::move(inputs));
    std::vector<ValueId> outputs = graph_.node(id).outputs;
    for (size_t i = 0; i < places.size(); ++i) {
      assign(slot_of(update.inputs[places[i]]), {&graph_, outputs[i]});
    }
  }

  // Members for which that was wrong, and those of them that are updated.
  std::pair<ValueId, ValueId> what_is_redone(const Node& update) {
    auto [known, is_new] =
        redone_.try_emplace({scale_of(update), keep_of(update)});
    if (!is_new) return known->second;
    NodeId id = graph_.add("redoes", {scale_of(update), keep_of(update)});
    Var redoes{&graph_, graph_.node(id).outputs[0]};
    Var keep = redoes;
    if (keep_of(update) != kNone) {
      keep = mul({&graph_, keep_of(update)}, redoes);
    }
    known->second = {redoes.id, keep.id};
    return known->second;
  }

  // The update itself now works on what was set aside.
  void redo(NodeId id, const std::vector<size_t>& places,
            const std::vector<ValueId>& aside, ValueId keep) {
    Node& update = graph_.node(id);
    for (size_t i = 0; i < places.size(); ++i) {
      update.inputs[places[i]] = aside[i];
    }
    update.inputs.resize(update.op->update_kind->keep_input() + 1, kNone);
    update.inputs.back() = keep;
    update.attrs.set(kRare, true);
  }

  // What followed the update follows what is taken.
  void take_back(NodeId id, const Node& before,
                 const std::vector<size_t>& places, ValueId redoes) {
    for (size_t i = 0; i < places.size(); ++i) {
      ValueId redone = graph_.node(id).outputs[i];
      Var now = read(graph_, slot_of(before.inputs[places[i]]));
      Attrs attrs{{kRare, true}};
      int64_t members = before.attrs.integer_or("members", 0);
      if (members > 0) attrs.set("members", members);
      NodeId taken = graph_.add("take_back", {now.id, redone, redoes}, attrs);
      ValueId result = graph_.node(taken).outputs[0];
      for (NodeId user : users_.of(redone)) {
        for (ValueId& input : graph_.node(user).inputs) {
          if (input == redone) input = result;
        }
      }
    }
  }

  Graph& graph_;
  Users users_;  // before anything was added
  NodeId num_old_;
  std::map<NodeId, Range> before_, after_;  // new nodes, by update
  // By scale and keep.
  std::map<std::pair<ValueId, ValueId>, std::pair<ValueId, ValueId>> redone_;
};

}  // namespace

bool is_rare(const Node& node) { return node.attrs.flag_or(kRare, false); }

bool has_waiting_updates(const passes::StepGraph& step) {
  const Graph& graph = step.graph;
  for (const Node& node : graph.nodes()) {
    if (waits(graph, node)) return true;
  }
  return false;
}

passes::StepGraph update_ahead(const OpTable&, passes::StepGraph step,
                               const Plan& plan) {
  if (step.repeats_micro_part()) return step;
  AheadUpdater updater(step.graph);
  auto num_nodes = static_cast<NodeId>(step.graph.nodes().size());
  for (NodeId id = 0; id < num_nodes; ++id) {
    auto segment = static_cast<size_t>(step.graph.node(id).segment);
    bool is_ahead = segment < plan.segments.size() &&
                    plan.segments[segment].update == Update::kHostAhead;
    if (is_ahead && updater.runs(id)) updater.run(id);
  }
  updater.reorder();
  return step;
}

}  // namespace braid::plan
