#include "braid/passes/array/array_lowering.h"

#include <algorithm>
#include <limits>
#include <map>

namespace braid::passes {
namespace {

struct Candidate {
  Lowering lowering = Lowering::kGrouped;
  double seconds = std::numeric_limits<double>::infinity();
};

// Convolutions that are alike: the best of those that leave members merged,
// the best of those that let them lead.
struct Kind {
  Candidate merged, leading;
  std::vector<NodeId> nodes;
  bool leads = false;  // the present choice

  const Candidate& chosen() const { return leads ? leading : merged; }
};

bool is_normed(const Graph& graph, const Users& users, ValueId value) {
  return std::ranges::any_of(users.of(value), [&](NodeId id) {
    const Node& node = graph.node(id);
    return (node.is(OpKind::kBatchNorm) || node.is(OpKind::kGroupNorm)) &&
           node.inputs[0] == value;
  });
}

class Chooser {
 public:
  Chooser(const OpTable& ops, const Graph& one, const ArrayPassOptions& options)
      : ops_(ops), one_(one), options_(options) {
    std::map<std::string, size_t> known;
    Users users = one.users();
    for (const Node& node : one.nodes()) {
      NodeView view(one, node);
      std::vector<Lowering> fit = lowerings_of(view);
      if (fit.empty()) continue;
      // Statistics are taken of rows: channels that lie last would be moved
      // before and after.
      bool normed = is_normed(one, users, node.outputs[0]);
      if (normed) std::erase(fit, Lowering::kGroupedLast);
      std::string text = convolution_text(view) + (normed ? " normed" : "");
      auto [at, fresh] = known.emplace(text, kinds_.size());
      if (fresh) kinds_.push_back(kind_of(view, fit));
      kinds_[at->second].nodes.push_back(
          static_cast<NodeId>(&node - one.nodes().data()));
    }
  }

  std::vector<Lowering> choose() {
    if (kinds_.empty()) return lowerings();
    double best = start();
    for (Kind& kind : kinds_) {
      kind.leads = !kind.leads;
      double seconds = total();
      if (seconds < best) {
        best = seconds;
      } else {
        kind.leads = !kind.leads;
      }
    }
    return lowerings();
  }

 private:
  double seconds_of(const NodeView& view, Lowering lowering) const {
    if (options_.seconds) {
      return options_.seconds(view, options_.members, lowering);
    }
    return lowering_seconds(view, options_.members, lowering, options_.threads);
  }

  Kind kind_of(const NodeView& view, const std::vector<Lowering>& fit) const {
    Kind kind;
    for (Lowering lowering : fit) {
      Candidate& best = leads(lowering) ? kind.leading : kind.merged;
      double seconds = seconds_of(view, lowering);
      if (seconds < best.seconds) best = {lowering, seconds};
    }
    return kind;
  }

  // The best of three: all merged, all leading, each as is best for itself.
  double start() {
    const std::function<bool(const Kind&)> rules[] = {
        [](const Kind&) { return false; }, [](const Kind&) { return true; },
        [](const Kind& k) { return k.leading.seconds < k.merged.seconds; }};
    double best = std::numeric_limits<double>::infinity();
    std::vector<bool> found;
    for (const auto& rule : rules) {
      std::vector<bool> choice;
      for (Kind& kind : kinds_) choice.push_back(kind.leads = rule(kind));
      double seconds = total();
      if (found.empty() || seconds < best) {
        best = seconds;
        found = choice;
      }
    }
    for (size_t i = 0; i < kinds_.size(); ++i) kinds_[i].leads = found[i];
    return best;
  }

  std::vector<Lowering> lowerings() const {
    std::vector<Lowering> all(one_.nodes().size(), Lowering::kGrouped);
    for (const Kind& kind : kinds_) {
      for (NodeId id : kind.nodes) {
        all[static_cast<size_t>(id)] = kind.chosen().lowering;
      }
    }
    return all;
  }

  double total() const {
    ArrayPassReport report =
        array_with(ops_, one_, options_, lowerings()).report;
    double seconds = 0;
    for (const Kind& kind : kinds_) {
      for (NodeId id : kind.nodes) {
        bool dense = report.dense[static_cast<size_t>(id)];
        seconds += (dense ? kind.merged : kind.chosen()).seconds;
      }
    }
    // There and, for the gradient, back.
    constexpr double kBytesPerSecond = 4e9;
    for (const Relayout& relayout : report.relayouts) {
      seconds += 2 * static_cast<double>(relayout.bytes) / kBytesPerSecond;
    }
    return seconds;
  }

  const OpTable& ops_;
  const Graph& one_;
  const ArrayPassOptions& options_;
  std::vector<Kind> kinds_;
};

// One lowering wherever it fits.
std::vector<Lowering> forced(const Graph& one, Lowering lowering) {
  std::vector<Lowering> all;
  for (const Node& node : one.nodes()) {
    std::vector<Lowering> fit = lowerings_of(NodeView(one, node));
    bool fits = std::ranges::find(fit, lowering) != fit.end();
    all.push_back(fits ? lowering : Lowering::kGrouped);
  }
  return all;
}

}  // namespace

std::vector<Lowering> choose_lowerings(const OpTable& ops, const Graph& one,
                                       const ArrayPassOptions& options) {
  if (options.lowering) return forced(one, *options.lowering);
  return Chooser(ops, one, options).choose();
}

}  // namespace braid::passes
