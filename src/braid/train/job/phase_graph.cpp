#include "braid/train/job/phase_graph.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/config/report.h"
#include "braid/graph/splice.h"
#include "braid/ops/build/functions.h"
#include "braid/ops/build/named_losses.h"
#include "braid/passes/names.h"

namespace braid::train {
namespace {

class PhaseBuilder {
 public:
  PhaseBuilder(const OpTable& ops, const PhaseNetworks& networks,
               const std::map<std::string, ValueType>& inputs)
      : networks_(networks), inputs_(inputs), graph_(ops), splicer_(graph_) {}

  Graph build(const Expression& expression) {
    ExpressionContext context{
        .is_network =
            [&](const std::string& name) { return networks_.contains(name); },
        .call =
            [&](const std::string& name, const std::vector<Var>& arguments,
                const std::vector<std::string>& keywords) {
              return call(name, arguments, keywords);
            },
        .input = [&](const std::string& name) { return input(name); }};
    check_calls(expression);
    Var loss = build_expression(expression, context);
    if (loss.numel() != 1) {
      fail_usage("[loss] a phase's loss is one number, got shape {}",
                 shape_text(loss.shape()));
    }
    splicer_.finish();
    graph_.add_output("loss", reshape(loss, {}).id);
    return std::move(graph_);
  }

 private:
  void check_calls(const Expression& expression) const {
    std::vector<std::string> known = {"detach", "mean"};
    for (const auto& [name, unused] : networks_) known.push_back(name);
    for (const LossKind& kind : loss_kinds()) known.push_back(kind.name);
    for (const std::string& name : called_names(expression)) {
      if (std::ranges::find(known, name) != known.end()) continue;
      fail_usage(
          "[loss] '{}' is neither a network nor a loss\n"
          "HINT: {}",
          name, name_hint(name, known));
    }
  }

  // Sizes follow from the inputs, so that wrong ones show here.
  Graph build_network(const std::string& name,
                      const std::map<std::string, ValueType>& types) const {
    try {
      return networks_.at(name).build(types);
    } catch (const std::invalid_argument& error) {
      ErrorParts parts = parts_of(error);
      throw UsageError(
          {"loss", fmt::format("{}: {}", name, parts.text), parts.hint});
    }
  }

  Var input(const std::string& name) {
    ValueId known = graph_.find_input(name);
    if (known != kNone) return {&graph_, known};
    auto type = inputs_.find(name);
    if (type != inputs_.end()) {
      return {&graph_, graph_.add_input(name, type->second)};
    }
    std::vector<std::string> names;
    for (const auto& [n, unused] : inputs_) names.push_back(n);
    fail_usage("[loss] there is no input '{}'\nHINT: {}", name,
               name_hint(name, names));
  }

  Var call(const std::string& name, const std::vector<Var>& arguments,
           const std::vector<std::string>& keywords) {
    const PhaseNetwork& network = networks_.at(name);
    std::map<std::string, ValueId> bound;
    std::map<std::string, ValueType> types;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (keywords[i].empty() && i >= network.names.size()) {
        fail_usage("[loss] {} takes {} values, got {}", name,
                   network.names.size(), arguments.size());
      }
      const std::string& to =
          keywords[i].empty() ? network.names[i] : keywords[i];
      if (!bound.emplace(to, arguments[i].id).second) {
        fail_usage("[loss] {} gets the input '{}' twice", name, to);
      }
      types[to] = arguments[i].type();
    }
    Graph graph = build_network(name, types);
    check_bound(name, graph, bound);
    return {&graph_, splicer_.add(graph, name, bound).at("output")};
  }

  static void check_bound(const std::string& name, const Graph& graph,
                          const std::map<std::string, ValueId>& bound) {
    for (const auto& [input, unused] : bound) {
      if (graph.find_input(input) != kNone) continue;
      fail_usage("[loss] {} does not need the input '{}'", name, input);
    }
    for (ValueId id : graph.inputs()) {
      const std::string& input = graph.value(id).name;
      bool is_given = bound.contains(input) || input == passes::kMicroInput;
      if (!is_given) fail_usage("[loss] {} needs the input '{}'", name, input);
    }
  }

  const PhaseNetworks& networks_;
  const std::map<std::string, ValueType>& inputs_;
  Graph graph_;
  Splicer splicer_;
};

}  // namespace

Graph build_phase_graph(const OpTable& ops, const Expression& loss,
                        const PhaseNetworks& networks,
                        const std::map<std::string, ValueType>& inputs) {
  return PhaseBuilder(ops, networks, inputs).build(loss);
}

}  // namespace braid::train
