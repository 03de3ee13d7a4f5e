// Makes a graph that fails smaller: steps become parameters, or are left out.
#include <algorithm>

#include "braid/base/error.h"
#include "random_graph_check.h"

namespace braid::parity {
namespace {

// "member 1 in an array: grad/w3 ..." -> "member", and alike for errors.
std::string kind_of(const std::string& problem) {
  bool array = problem.find("in an array") != problem.npos;
  return problem.substr(0, problem.find_first_of(" :")) + (array ? "+" : "");
}

// The results of one step become parameters.
RandomGraph cut_at(const RandomGraph& graph, size_t at) {
  RandomGraph next = graph;
  Step step = std::get<Step>(next.items[at]);
  std::vector<std::variant<Given, Step>> givens;
  for (size_t i = 0; i < step.types.size(); ++i) {
    bool is_float = is_floating(step.types[i].dtype);
    givens.push_back(
        Given{.name = fmt::format("cut{}_{}", at, i),
              .kind = is_float ? Given::Kind::kParameter : Given::Kind::kInput,
              .type = step.types[i],
              .limit = step.types[i].dtype == DType::kInt64 ? 1 : 0});
  }
  auto place = next.items.erase(next.items.begin() + static_cast<long>(at));
  next.items.insert(place, givens.begin(), givens.end());
  return without_unused(next);
}

// The result of one step is one of its operands instead.
RandomGraph pass_through(const RandomGraph& graph, size_t at, size_t operand) {
  RandomGraph next = graph;
  Step& step = std::get<Step>(next.items[at]);
  size_t from = step.operands[operand];
  size_t value = 0;
  for (size_t i = 0; i < at; ++i) {
    const Step* before = std::get_if<Step>(&graph.items[i]);
    value += before ? before->types.size() : 1;
  }
  for (auto& item : next.items) {
    Step* user = std::get_if<Step>(&item);
    if (!user || user == &step) continue;
    std::replace(user->operands.begin(), user->operands.end(), value, from);
  }
  for (auto& [name, id] : next.outputs) {
    if (id == value) id = from;
  }
  return without_unused(next);
}

ValueType type_of_value(const RandomGraph& graph, size_t id) {
  for (const auto& item : graph.items) {
    const Step* step = std::get_if<Step>(&item);
    size_t count = step ? step->types.size() : 1;
    if (id < count) return step ? step->types[id] : std::get<Given>(item).type;
    id -= count;
  }
  fail_usage("[random graph] there is no value {}", id);
}

std::vector<RandomGraph> smaller_ones(const RandomGraph& graph, size_t at) {
  std::vector<RandomGraph> smaller;
  const Step* step = std::get_if<Step>(&graph.items[at]);
  if (!step) return smaller;
  for (size_t k = 0; k < step->operands.size(); ++k) {
    if (step->types.size() == 1 &&
        type_of_value(graph, step->operands[k]) == step->types[0]) {
      smaller.push_back(pass_through(graph, at, k));
    }
  }
  smaller.push_back(cut_at(graph, at));
  return smaller;
}

}  // namespace

RandomGraph shrink(RandomGraph graph, uint64_t seed) {
  std::string kind = kind_of(check_random_graph(graph, seed));
  auto fails = [&](const RandomGraph& g) {
    return kind_of(check_random_graph(g, seed)) == kind;
  };
  for (size_t i = 0; i + 1 < graph.outputs.size();) {
    RandomGraph next = graph;
    next.outputs.erase(next.outputs.begin() + static_cast<long>(i));
    next = without_unused(next);
    if (fails(next))
      graph = next;
    else
      ++i;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = graph.items.size(); i-- > 0;) {
      if (i >= graph.items.size()) continue;
      for (const RandomGraph& next : smaller_ones(graph, i)) {
        if (next.items.size() < graph.items.size() && fails(next)) {
          graph = next;
          changed = true;
          break;
        }
      }
    }
  }
  return graph;
}

}  // namespace braid::parity
