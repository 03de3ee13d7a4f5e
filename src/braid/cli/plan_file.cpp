#include "braid/cli/plan_file.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/numbers.h"
#include "braid/base/text.h"
#include "braid/cli/yaml_file.h"

namespace braid::cli {
namespace {

int read_depth(const YamlFile& file, const config::Node& node) {
  std::string text = file.text(node, "depth");
  auto depth = parse_whole(text);
  if (!depth || *depth < 0 || *depth > 64) {
    file.fail(node, fmt::format("'depth' is a whole number from 0 to 64, "
                                "not '{}'",
                                text));
  }
  return static_cast<int>(*depth);
}

plan::Decision read_decision(const YamlFile& file, const config::Node& node,
                             const std::string& name) {
  try {
    return plan::parse_decision(file.text(node, name));
  } catch (const std::invalid_argument& error) {
    ErrorParts parts = parts_of(error);
    parts.where.clear();
    file.fail(node, parts.message());
  }
}

void read_segments(const YamlFile& file, const config::Node& map,
                   const std::vector<std::string>& names, plan::Plan& plan) {
  const std::vector<config::Node>& items = file.items(map, "'segments'");
  if (const config::Node* rest = map.find("default")) {
    plan.segments.assign(names.size(), read_decision(file, *rest, "default"));
  }
  for (const config::Node& item : items) {
    const std::string& key = item.key;
    if (key == "default") continue;
    auto at = std::find(names.begin(), names.end(), key);
    if (at == names.end()) {
      file.fail(item, fmt::format("the model has no segment '{}'", key),
                name_hint(key, names));
    }
    plan.segments[static_cast<size_t>(at - names.begin())] =
        read_decision(file, item, key);
  }
}

}  // namespace

plan::Plan read_plan(const std::filesystem::path& path,
                     const std::vector<std::string>& segments) {
  YamlFile file("plan", path);
  plan::Plan plan = plan::keep_all(segments.size());
  for (const config::Node& node : file.items(file.root(), "a plan")) {
    if (node.key == "depth") {
      plan.depth = read_depth(file, node);
    } else if (node.key == "segments") {
      read_segments(file, node, segments, plan);
    } else {
      file.fail(node, fmt::format("unknown key '{}'", node.key),
                name_hint(node.key, {"depth", "segments"}));
    }
  }
  return plan;
}

}  // namespace braid::cli
