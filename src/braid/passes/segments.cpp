#include "braid/passes/segments.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace braid::passes {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

// "blocks.3.attn.qkv" -> "blocks.3", "fc1.drop" -> "fc1".
std::string segment_name(const std::string& path) {
  size_t first = path.find('.');
  if (first == path.npos) return path;
  size_t second = std::min(path.find('.', first + 1), path.size());
  bool numbered =
      is_number(std::string_view(path).substr(first + 1, second - first - 1));
  return path.substr(0, numbered ? second : first);
}

}  // namespace

std::vector<std::string> mark_segments(Graph& forward) {
  std::vector<std::string> names;
  std::map<std::string, int32_t> known;
  for (size_t i = 0; i < forward.nodes().size(); ++i) {
    Node& node = forward.node(static_cast<NodeId>(i));
    std::string name = segment_name(node.path);
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
