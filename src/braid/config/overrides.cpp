#include "braid/config/overrides.h"

#include <algorithm>
#include <span>

#include "braid/base/error.h"
#include "braid/base/numbers.h"
#include "braid/base/text.h"
#include "braid/config/yaml_reader.h"

namespace braid::config {
namespace {

struct Refusal {
  Problem problem;
};

void set_place(Node& node, const Place& place) {
  node.place = place;
  for (Node& item : node.items) set_place(item, place);
}

Node parse_value(const std::string& text, Report& report) {
  bool is_yaml = !text.empty() && std::string_view("[{'\"").find(text[0]) !=
                                      std::string_view::npos;
  if (is_yaml) return parse_yaml(text, report);
  if (text.empty() || text == "~" || text == "null") return {};
  return make_value(text);
}

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> words;
  for (size_t from = 0; from <= path.size();) {
    size_t end = std::min(path.find('.', from), path.size());
    words.push_back(path.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

Node& item_of_list(Node& list, const std::string& word,
                   const std::string& key) {
  auto index = parse_whole(word);
  auto size = static_cast<int64_t>(list.items.size());
  std::string items =
      size == 0 ? "no items" : fmt::format("items 0 to {}", size - 1);
  if (index && *index >= 0 && *index < size) {
    return list.items[static_cast<size_t>(*index)];
  }
  throw Refusal{
      {fmt::format("{} has {}, got '{}'", key, items, shown_text(word)),
       fmt::format("the whole list is set by {}=[...]", key)}};
}

Node& item_of_map(Node& map, const std::string& word) {
  if (Node* found = map.find(word)) return *found;
  map.items.push_back({.key = word});
  return map.items.back();
}

// `optimizer: sgd` with optimizer.lr=1: what stood there becomes an item
// without a key, which the section may take.
void make_map_of(Node& node, const Place& place) {
  if (node.is_map()) return;
  Node map = make_map();
  map.key = node.key;
  map.place = place;
  if (node.is_value()) {
    node.key.clear();
    map.items.push_back(std::move(node));
  }
  node = std::move(map);
}

// The node below, made when there is none; `key` is that of the parent.
Node& child(Node& parent, const std::string& word, const std::string& key,
            const Place& place) {
  if (parent.is_list()) return item_of_list(parent, word, key);
  make_map_of(parent, place);
  return item_of_map(parent, word);
}

Node& find_place(Node& root, const std::string& path, const Place& place) {
  Node* node = &root;
  std::string key;
  std::vector<std::string> words = split(path);
  if (words.size() > kMostDepth) throw Refusal{{"has too many parts"}};
  for (const std::string& word : words) {
    if (word.empty()) throw Refusal{{"has an empty key"}};
    node = &child(*node, word, key, place);
    key += (key.empty() ? "" : ".") + word;
  }
  return *node;
}

void apply(Node& root, const std::string& text) {
  size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) {
    throw Refusal{{"is no KEY=VALUE", "write it as optimizer.lr=3e-4"}};
  }
  if (utf8_length(text) < text.size()) throw Refusal{{"is no UTF-8 text"}};
  Report of_value("", "");
  Node value = parse_value(text.substr(equals + 1), of_value);
  if (!of_value.empty()) throw Refusal{{"has a value that is no YAML"}};
  Place place{.override_text = text};
  Node& node = find_place(root, text.substr(0, equals), place);
  value.key = node.key;
  node = std::move(value);
  set_place(node, place);
}

void take_back(Node& node, std::span<const std::string> words) {
  Node* found = node.find(words[0]);
  if (!found) return;
  if (words.size() > 1) return take_back(*found, words.subspan(1));
  std::erase_if(node.items,
                [&](const Node& item) { return item.key == words[0]; });
}

}  // namespace

void set_value(Node& root, const std::string& key, Node value, Report& report) {
  if (value.is_null()) return take_back(root, split(key));
  try {
    Node& node = find_place(root, key, value.place);
    value.key = node.key;
    node = std::move(value);
  } catch (const Refusal& refusal) {
    report.add(value.place, {fmt::format("key '{}': {}", shown_text(key),
                                         refusal.problem.text),
                             refusal.problem.hint});
  }
}

void apply_overrides(Node& root, const std::vector<std::string>& overrides,
                     Report& report) {
  for (const std::string& text : overrides) {
    try {
      apply(root, text);
    } catch (const Refusal& refusal) {
      report.add({.override_text = text}, refusal.problem);
    }
  }
}

}  // namespace braid::config
