#include "braid/cli/verbs/inspect_array.h"
#include "braid/cli/output.h"

#include <map>
#include <set>

#include "braid/base/bytes.h"
#include "braid/base/printable.h"
#include "fmt/ranges.h"

namespace braid::cli {
namespace {

constexpr const char* layout_name(Layout layout) {
  switch (layout) {
    case Layout::kShared: return "shared";
    case Layout::kLeading: return "[B, N, ...]";
    case Layout::kMerged: return "[N, B * C, ...]";
  }
  return "";
}

std::string layer_name(const std::string& path) {
  return path.empty() ? "(model)" : printable(path);
}

// What the nodes of one layer have come to.
struct Layer {
  std::string path;
  std::set<Layout> layouts;
  std::vector<std::string> lowerings;  // of convolutions, in order
};

std::string lowering_text(const passes::ArrayReport& report, size_t node) {
  if (report.dense[node]) return "dense";
  return std::string(lowering_name(*report.lowerings[node]));
}

std::vector<Layer> layers_of(const Graph& one,
                             const passes::ArrayReport& report) {
  std::vector<Layer> layers;
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < one.nodes().size(); ++i) {
    const Node& node = one.nodes()[i];
    if (node.is(OpKind::kRead) || node.is(OpKind::kAssign)) continue;
    auto [at, fresh] = known.emplace(node.path, layers.size());
    if (fresh) layers.push_back({node.path, {}, {}});
    Layer& layer = layers[at->second];
    for (ValueId id : node.outputs) {
      layer.layouts.insert(report.layouts[static_cast<size_t>(id)]);
    }
    if (report.lowerings[i]) {
      layer.lowerings.push_back(lowering_text(report, i));
    }
  }
  return layers;
}

void print_layers(const std::vector<Layer>& layers) {
  print("  {:<32} {:<28} {}\n", "", "members lie", "convolution");
  for (const Layer& layer : layers) {
    std::vector<std::string> names;
    for (Layout layout : layer.layouts) names.emplace_back(layout_name(layout));
    std::string row =
        fmt::format("  {:<32} {:<28} {}", layer_name(layer.path),
                    fmt::join(names, " "), fmt::join(layer.lowerings, " "));
    row.erase(row.find_last_not_of(' ') + 1);
    print("{}\n", row);
  }
}

void print_turns(const std::vector<passes::Turn>& turns) {
  int64_t bytes = 0;
  for (const passes::Turn& turn : turns) bytes += turn.bytes;
  print("values turned to another layout: {}, {}\n", turns.size(),
        bytes_text(bytes));
  for (const passes::Turn& turn : turns) {
    print("  {:<32} to {:<25} {}\n", layer_name(turn.path),
          layout_name(turn.to), bytes_text(turn.bytes));
  }
}

void print_shared(const Graph& one, const passes::ArrayReport& report) {
  int64_t shared = 0;
  for (const Node& node : one.nodes()) {
    if (node.is(OpKind::kRead)) continue;
    for (ValueId id : node.outputs) {
      Layout layout = report.layouts[static_cast<size_t>(id)];
      shared += layout == Layout::kShared;
    }
  }
  print("values that all members share: {}\n", shared);
}

}  // namespace

void print_array(const OpTable& ops, const compile::StepSpec& spec,
                 const compile::Target& target) {
  passes::ArrayReport report =
      passes::array_reported(ops, spec.forward,
                             compile::array_options(spec, target))
          .report;
  print("array of {} members\n", spec.capacity);
  print_layers(layers_of(spec.forward, report));
  print_turns(report.turns);
  print_shared(spec.forward, report);
}

}  // namespace braid::cli
