#include "braid/cli/verbs/inspect_array.h"
#include "braid/cli/output.h"

#include <map>
#include <set>

#include "braid/base/bytes.h"
#include "braid/base/printable.h"
#include "fmt/ranges.h"

namespace braid::cli {
namespace {

constexpr const char* axis_name(MemberAxis axis) {
  switch (axis) {
    case MemberAxis::kShared: return "shared";
    case MemberAxis::kLeading: return "[B, N, ...]";
    case MemberAxis::kMerged: return "[N, B * C, ...]";
  }
  return "";
}

std::string layer_name(const std::string& path) {
  return path.empty() ? "(model)" : printable(path);
}

// What the nodes of one layer have come to.
struct Layer {
  std::string path;
  std::set<MemberAxis> axes;
  std::vector<std::string> lowerings;  // of convolutions, in order
};

std::string lowering_text(const passes::ArrayPassReport& report, size_t node) {
  if (report.dense[node]) return "dense";
  return std::string(lowering_name(*report.lowerings[node]));
}

std::vector<Layer> layers_of(const Graph& one,
                             const passes::ArrayPassReport& report) {
  std::vector<Layer> layers;
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < one.nodes().size(); ++i) {
    const Node& node = one.nodes()[i];
    if (node.is(OpKind::kRead) || node.is(OpKind::kAssign)) continue;
    auto [at, fresh] = known.emplace(node.path, layers.size());
    if (fresh) layers.push_back({node.path, {}, {}});
    Layer& layer = layers[at->second];
    for (ValueId id : node.outputs) {
      layer.axes.insert(report.axes[static_cast<size_t>(id)]);
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
    for (MemberAxis axis : layer.axes) names.emplace_back(axis_name(axis));
    std::string row =
        fmt::format("  {:<32} {:<28} {}", layer_name(layer.path),
                    fmt::join(names, " "), fmt::join(layer.lowerings, " "));
    row.erase(row.find_last_not_of(' ') + 1);
    print("{}\n", row);
  }
}

void print_relayouts(const std::vector<passes::Relayout>& relayouts) {
  int64_t bytes = 0;
  for (const passes::Relayout& relayout : relayouts) bytes += relayout.bytes;
  print("values turned to another layout: {}, {}\n", relayouts.size(),
        bytes_text(bytes));
  for (const passes::Relayout& relayout : relayouts) {
    print("  {:<32} to {:<25} {}\n", layer_name(relayout.path),
          axis_name(relayout.to), bytes_text(relayout.bytes));
  }
}

void print_shared(const Graph& one, const passes::ArrayPassReport& report) {
  int64_t shared = 0;
  for (const Node& node : one.nodes()) {
    if (node.is(OpKind::kRead)) continue;
    for (ValueId id : node.outputs) {
      MemberAxis axis = report.axes[static_cast<size_t>(id)];
      shared += axis == MemberAxis::kShared;
    }
  }
  print("values that all members share: {}\n", shared);
}

}  // namespace

void print_array(const OpTable& ops, const compile::StepSpec& spec,
                 const compile::Target& target) {
  passes::ArrayPassReport report =
      passes::array_reported(ops, spec.forward,
                             compile::array_options(spec, target))
          .report;
  print("array of {} members\n", spec.capacity);
  print_layers(layers_of(spec.forward, report));
  print_relayouts(report.relayouts);
  print_shared(spec.forward, report);
}

}  // namespace braid::cli
