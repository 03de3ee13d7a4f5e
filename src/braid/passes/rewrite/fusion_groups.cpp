// One walk through the nodes with open groups. A node joins the groups that
// make its inputs; where it cannot, and for any other node, those groups close
// before it. So open groups never read each other, and may become one.
//
// A group is computed where its last node stands. What the nodes before it
// read lives until then, so they wait for a node further down only when that
// takes no more memory than their results would.
#include "braid/passes/rewrite/fusion_groups.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "braid/ops/core/fusion.h"

namespace braid::passes {
namespace {

constexpr size_t kNoGroup = static_cast<size_t>(-1);

bool contains(const std::vector<ValueId>& list, ValueId id) {
  return std::ranges::find(list, id) != list.end();
}

class FusionFinder {
 public:
  FusionFinder(const StepGraph& step, const FusionRules& rules)
      : graph_(step.graph),
        rules_(rules),
        makers_(graph_.values().size(), kNoGroup),
        users_(graph_),
        roots_(graph_.values().size()),
        last_reads_(graph_.values().size(), kNone),
        work_before_(graph_.nodes().size() + 1) {
    std::iota(roots_.begin(), roots_.end(), 0);
    for (NodeId id = 0; id < num_nodes(); ++id) look_at(id);
    for (const Output& output : graph_.outputs()) kept_.insert(output.value);
    for (const auto& [slot, value] : step.gradients) kept_.insert(value);
  }

  std::vector<FusionGroup> run() {
    for (NodeId id = 0; id < num_nodes(); ++id) add_node(id);
    close_all();
    std::erase_if(groups_, [](const FusionGroup& group) {
      return group.nodes.size() < 2;
    });
    return std::move(groups_);
  }

 private:
  // Who reads what, and in whose memory it lies.
  void look_at(NodeId id) {
    const Node& node = graph_.node(id);
    bool is_view = static_cast<bool>(node.op->view);
    bool works = !is_view && !node.is(OpKind::kRead);
    work_before_[at(id) + 1] = work_before_[at(id)] + works;
    for (ValueId input : node.inputs) {
      if (input == kNone) continue;
      if (works) last_reads_[at(roots_[at(input)])] = id;
    }
    if (is_view) roots_[at(node.outputs[0])] = roots_[at(node.inputs[0])];
  }

  static size_t at(int32_t id) { return static_cast<size_t>(id); }
  NodeId num_nodes() const {
    return static_cast<NodeId>(graph_.nodes().size());
  }

  void add_node(NodeId id) {
    const Node& node = graph_.node(id);
    // What lies in a slot must be read before the slot has new content.
    if (begins_anew(id) || node.op->writes_slot) close_all();
    std::set<size_t> made_by = open_makers(node);
    if (!may_join(node)) return close(made_by);
    FusionGroup own{.nodes = {id}};
    std::set<NodeId> meeting;
    for (size_t group : made_by) {
      meeting.insert(groups_[group].nodes.begin(), groups_[group].nodes.end());
    }
    for (size_t group : made_by) {
      FusionGroup both = joined(groups_[group], own);
      if (same_shape(groups_[group], own) && fits(both) &&
          !wastes(groups_[group], meeting, id)) {
        own = std::move(both);
        groups_[group].nodes.clear();
      }
      close({group});
    }
    open(finished(std::move(own)));
  }

  bool begins_anew(NodeId id) const {
    if (id == 0) return false;
    const Node &node = graph_.node(id), &before = graph_.node(id - 1);
    return node.phase != before.phase || node.segment != before.segment;
  }

  std::set<size_t> open_makers(const Node& node) const {
    std::set<size_t> groups;
    for (ValueId input : node.inputs) {
      if (input != kNone && makers_[at(input)] != kNoGroup) {
        groups.insert(makers_[at(input)]);
      }
    }
    return groups;
  }

  bool may_join(const Node& node) const {
    if (node.phase == Phase::kUpdate || !fusion_step(node, rules_.mixed).op) {
      return false;
    }
    const Value& made = graph_.value(node.outputs[0]);
    bool casts = node.is(OpKind::kCast);
    return may_be_made(made) &&
           std::ranges::all_of(node.inputs, [&](ValueId input) {
             return input != kNone &&
                    spreads_to(graph_.value(input), made, casts);
           });
  }

  bool may_be_made(const Value& made) const {
    const ValueType& type = made.type;
    if (rules_.mixed) {
      return is_floating(type.dtype) && num_elements(type.shape) > 0 &&
             is_dense(type.shape, made.strides);
    }
    return (type.dtype == DType::kFloat32 || type.dtype == DType::kFloat64) &&
           is_contiguous(type.shape, made.strides);
  }

  // Broadcasts to what is made. Elements of a row that lie far apart are read
  // faster by kernels that choose their own order.
  bool spreads_to(const Value& value, const Value& made, bool casts) const {
    const Shape &shape = value.type.shape, &to = made.type.shape;
    bool fits = casts ? is_floating(value.type.dtype)
                      : value.type.dtype == made.type.dtype;
    if (!fits || shape.size() > to.size()) return false;
    if (!std::equal(shape.rbegin(), shape.rend(), to.rbegin(),
                    [](int64_t a, int64_t b) { return a == b || a == 1; })) {
      return false;
    }
    return (rules_.mixed ? step_along(value, made) : row_step(value)) <= 1;
  }

  // Between elements of the last dimension that has several.
  static int64_t row_step(const Value& value) {
    for (size_t d = value.strides.size(); d-- > 0;) {
      if (value.type.shape[d] > 1) return value.strides[d];
    }
    return 0;
  }

  // Of a value that broadcasts to `made`, between elements whose places there
  // are neighbours in memory.
  static int64_t step_along(const Value& value, const Value& made) {
    size_t lead = made.type.shape.size() - value.type.shape.size();
    size_t nearest = made.type.shape.size();
    for (size_t d = 0; d < made.type.shape.size(); ++d) {
      if (made.type.shape[d] == 1) continue;
      bool nearer = nearest == made.type.shape.size() ||
                    made.strides[d] < made.strides[nearest];
      if (nearer) nearest = d;
    }
    bool varies = nearest < made.type.shape.size() && nearest >= lead &&
                  value.type.shape[nearest - lead] > 1;
    return varies ? value.strides[nearest - lead] : 0;
  }

  const Value& made_by(const FusionGroup& group) const {
    return graph_.value(graph_.node(group.nodes[0]).outputs[0]);
  }
  const ValueType& type_of(const FusionGroup& group) const {
    return made_by(group).type;
  }

  bool same_shape(const FusionGroup& a, const FusionGroup& b) const {
    const Value &x = made_by(a), &y = made_by(b);
    if (!rules_.mixed) return x.type == y.type;
    return x.type.shape == y.type.shape && x.strides == y.strides;
  }

  FusionGroup joined(const FusionGroup& a, const FusionGroup& b) const {
    FusionGroup both;
    std::ranges::merge(a.nodes, b.nodes, std::back_inserter(both.nodes));
    return finished(std::move(both));
  }

  // With inputs and outputs, as its nodes have them so far.
  FusionGroup finished(FusionGroup group) const {
    group.inputs.clear();
    group.outputs.clear();
    std::vector<ValueId> made;
    for (NodeId id : group.nodes) {
      for (ValueId input : graph_.node(id).inputs) {
        bool known = contains(made, input) || contains(group.inputs, input);
        if (!known) group.inputs.push_back(input);
      }
      made.push_back(graph_.node(id).outputs[0]);
    }
    for (ValueId value : made) {
      if (is_read_outside(group, value)) group.outputs.push_back(value);
    }
    return group;
  }

  bool is_read_outside(const FusionGroup& group, ValueId value) const {
    return kept_.contains(value) ||
           std::ranges::any_of(users_.of(value), [&](NodeId reader) {
             return !std::ranges::binary_search(group.nodes, reader);
           });
  }

  static bool fits(const FusionGroup& group) {
    return group.nodes.size() <= kMaxFusionSteps &&
           group.inputs.size() <= kMaxFusionInputs && !group.outputs.empty() &&
           group.outputs.size() <= kMaxFusionOutputs;
  }

  // Whether the group keeps more alive until node `id` than its own results
  // are. Nodes that meet it there are no reason to wait.
  bool wastes(const FusionGroup& group, const std::set<NodeId>& meeting,
              NodeId id) const {
    NodeId last = group.nodes.back();
    auto meet = std::distance(meeting.upper_bound(last), meeting.end());
    bool waits = work_before_[at(id)] - work_before_[at(last) + 1] > meet;
    if (!waits) return false;
    auto results = static_cast<int64_t>(group.outputs.size());
    return bytes_kept(group, id) > results * bytes_of(type_of(group));
  }

  // Of inputs that nobody reads from node `id` on.
  int64_t bytes_kept(const FusionGroup& group, NodeId id) const {
    std::set<ValueId> dying;
    for (ValueId input : group.inputs) {
      ValueId root = roots_[at(input)];
      NodeId maker = graph_.value(root).producer;
      bool stays = maker == kNone || graph_.node(maker).is(OpKind::kRead) ||
                   kept_.contains(root) || last_reads_[at(root)] >= id;
      if (!stays) dying.insert(root);
    }
    int64_t bytes = 0;
    for (ValueId root : dying) bytes += bytes_of(graph_.value(root).type);
    return bytes;
  }

  static int64_t bytes_of(const ValueType& type) {
    return num_elements(type.shape) * item_bytes(type.dtype);
  }

  void open(FusionGroup group) {
    for (NodeId id : group.nodes) {
      makers_[at(graph_.node(id).outputs[0])] = groups_.size();
    }
    open_.insert(groups_.size());
    groups_.push_back(std::move(group));
  }

  void close(const std::set<size_t>& groups) {
    for (size_t group : groups) {
      for (NodeId id : groups_[group].nodes) {
        makers_[at(graph_.node(id).outputs[0])] = kNoGroup;
      }
      open_.erase(group);
    }
  }

  void close_all() { close(std::set(open_)); }

  const Graph& graph_;
  FusionRules rules_;
  std::vector<FusionGroup> groups_;  // those that became part of another: empty
  std::set<size_t> open_;
  std::vector<size_t> makers_;  // open group, by value
  Users users_;
  std::set<ValueId> kept_;            // when the step is over
  std::vector<ValueId> roots_;        // of views, by value
  std::vector<NodeId> last_reads_;    // by root
  std::vector<int64_t> work_before_;  // nodes that compute, by node
};

}  // namespace

std::vector<FusionGroup> find_fusions(const StepGraph& step,
                                      const FusionRules& rules) {
  return FusionFinder(step, rules).run();
}

}  // namespace braid::passes
