#include "braid/passes/rewrite/segments.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

namespace braid::passes {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

// An entry of a list: "3", or "layer_3".
bool is_numbered(std::string_view part) {
  return is_number(part.substr(part.rfind('_') + 1));
}

// Where the part of a path that begins at `begin` ends.
size_t end_of_part(const std::string& path, size_t begin) {
  return std::min(path.find('.', begin), path.size());
}

// Up to the first numbered part, or else the first part after `begin`:
// "model.h.3.attn" -> "model.h.3", "fc1.drop" -> "fc1".
std::string segment_name(const std::string& path, size_t begin) {
  if (path.size() <= begin) return "";
  for (size_t at = begin; at < path.size();) {
    size_t end = end_of_part(path, at);
    if (at > begin &&
        is_numbered(std::string_view(path).substr(at, end - at))) {
      return path.substr(0, end);
    }
    at = end + 1;
  }
  return path.substr(0, end_of_part(path, begin));
}

// Length of the parts that all paths begin with: a module around the model.
size_t common_begin(const Graph& forward) {
  std::optional<std::string> common;
  std::string first;
  bool differ = false;
  for (const Node& node : forward.nodes()) {
    if (node.path.empty()) continue;
    std::string path = node.path + ".";
    if (!common) common = first = path;
    auto end =
        std::mismatch(common->begin(), common->end(), path.begin(), path.end());
    differ = differ || path != first;
    common->erase(end.first, common->end());
  }
  if (!common) return 0;
  // One layer alone is no module around others.
  if (!differ) common->pop_back();
  return common->rfind('.') + 1;
}

}  // namespace

std::vector<std::string> mark_segments(Graph& forward) {
  std::vector<std::string> names;
  std::map<std::string, int32_t> known;
  size_t begin = common_begin(forward);
  for (size_t i = 0; i < forward.nodes().size(); ++i) {
    Node& node = forward.node(static_cast<NodeId>(i));
    std::string name = segment_name(node.path, begin);
    bool fresh = !name.empty() && !known.contains(name);
    if (fresh || names.empty()) {
      known[name] = static_cast<int32_t>(names.size());
      names.push_back(name.empty() ? "start" : name);
    }
    // A layer used again later stays in the segment that uses it.
    node.segment = static_cast<int32_t>(names.size()) - 1;
  }
  return names;
}

}  // namespace braid::passes
