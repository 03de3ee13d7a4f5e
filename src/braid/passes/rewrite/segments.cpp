#include "braid/passes/rewrite/segments.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "braid/base/error.h"
#include "braid/base/text.h"

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

// Without cuts, the segments of all paths.
std::set<std::string> plain_names(const Graph& forward, size_t begin) {
  std::set<std::string> names;
  for (const Node& node : forward.nodes()) {
    names.insert(segment_name(node.path, begin));
  }
  return names;
}

// Finds the segment of each path, however many nodes are on it.
class Cutter {
 public:
  Cutter(const Graph& forward, const SegmentRules& rules)
      : begin_(common_begin(forward)) {
    if (rules.cuts.empty()) return;
    std::set<std::string> plain = plain_names(forward, begin_);
    for (const std::string& cut : rules.cuts) {
      // The name of a whole segment means that one alone.
      if (!plain.contains(cut)) cuts_.push_back(cut);
    }
  }

  const std::string& name(const std::string& path) {
    auto [entry, is_new] = known_.try_emplace(path);
    if (is_new) entry->second = find(path);
    return entry->second;
  }

 private:
  std::string find(const std::string& path) const {
    std::string name = segment_name(path, begin_);
    size_t length = name.size();
    for (const std::string& cut : cuts_) {
      length = std::max(length, layer_length(path, cut));
    }
    return length > name.size() ? path.substr(0, length) : name;
  }

  size_t begin_;
  std::vector<std::string> cuts_;
  std::map<std::string, std::string> known_;
};

bool fits_any(const std::string& name,
              const std::vector<std::string>& patterns) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return layer_length(name, pattern) > 0;
  });
}

// By segment, the first of those that it is one with.
std::vector<size_t> joined_with(const std::vector<std::string>& names,
                                const SegmentRules& rules) {
  std::vector<size_t> first(names.size());
  for (size_t i = 0; i < names.size(); ++i) first[i] = i;
  for (const std::vector<std::string>& patterns : rules.joined) {
    std::optional<size_t> begin, last;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!fits_any(names[i], patterns)) continue;
      if (last && *last + 1 != i) {
        fail_usage(
            "[plan] join: '{}' and '{}' do not follow each other: '{}' is "
            "between them",
            names[*last], names[i], names[i - 1]);
      }
      if (!begin) begin = first[i];
      first[i] = *begin;
      last = i;
    }
    if (begin) continue;
    fail_usage("[plan] join: the model has no segment '{}'\nHINT: {}",
               patterns.empty() ? "" : patterns[0],
               name_hint(patterns.empty() ? "" : patterns[0], names));
  }
  return first;
}

std::vector<std::string> join_segments(Graph& forward,
                                       std::vector<std::string> names,
                                       const SegmentRules& rules) {
  if (rules.joined.empty()) return names;
  std::vector<size_t> first = joined_with(names, rules);
  std::vector<int32_t> number(names.size());
  std::vector<std::string> left;
  for (size_t i = 0; i < names.size(); ++i) {
    if (first[i] == i) left.push_back(std::move(names[i]));
    number[i] = static_cast<int32_t>(left.size()) - 1;
  }
  for (size_t i = 0; i < forward.nodes().size(); ++i) {
    int32_t& segment = forward.node(static_cast<NodeId>(i)).segment;
    segment = number[static_cast<size_t>(segment)];
  }
  return left;
}

}  // namespace

size_t layer_length(std::string_view path, std::string_view pattern) {
  if (pattern.empty()) return 0;
  for (size_t end = 0; end < path.size(); ++end) {
    end = std::min(path.find('.', end), path.size());
    for (size_t begin = 0; begin < end;) {
      if (fits_pattern(path.substr(begin, end - begin), pattern)) return end;
      size_t dot = path.find('.', begin);
      begin = dot == std::string_view::npos ? end : dot + 1;
    }
  }
  return 0;
}

std::vector<std::string> mark_segments(Graph& forward,
                                       const SegmentRules& rules) {
  std::vector<std::string> names;
  std::map<std::string, int32_t> known;
  Cutter cutter(forward, rules);
  for (size_t i = 0; i < forward.nodes().size(); ++i) {
    Node& node = forward.node(static_cast<NodeId>(i));
    const std::string& name = cutter.name(node.path);
    bool fresh = !name.empty() && !known.contains(name);
    if (fresh || names.empty()) {
      known[name] = static_cast<int32_t>(names.size());
      names.push_back(name.empty() ? "start" : name);
    }
    // A layer used again later stays in the segment that uses it.
    node.segment = static_cast<int32_t>(names.size()) - 1;
  }
  return join_segments(forward, std::move(names), rules);
}

}  // namespace braid::passes
