#include "braid/config/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "braid/base/printable.h"

namespace braid::config {

std::string Place::text() const {
  if (!override_text.empty()) {
    return fmt::format("override '{}'", shown_text(override_text));
  }
  return line > 0 ? fmt::format("line {}", line) : "";
}

const Node* Node::find(std::string_view name) const {
  if (!is_map()) return nullptr;
  auto at = std::ranges::find(items, name, &Node::key);
  return at == items.end() ? nullptr : &*at;
}

Node* Node::find(std::string_view name) {
  return const_cast<Node*>(std::as_const(*this).find(name));
}

Node make_value(std::string text, bool quoted) {
  return {Node::Kind::kValue, std::move(text), quoted};
}

Node make_list(std::vector<Node> items) {
  return {.kind = Node::Kind::kList, .items = std::move(items)};
}

Node make_map(std::vector<Node> items) {
  return {.kind = Node::Kind::kMap, .items = std::move(items)};
}

bool same_content(const Node& a, const Node& b) {
  return a.kind == b.kind && a.text == b.text && a.key == b.key &&
         std::ranges::equal(a.items, b.items, same_content);
}

// Keys may have points in them, so that the tree tells where they end.
Place place_of(const Node& root, std::string_view key) {
  for (size_t i = 0; i < root.items.size(); ++i) {
    const Node& item = root.items[i];
    std::string name = root.is_list() ? std::to_string(i) : item.key;
    if (name == key) return item.place;
    if (name.empty() || !key.starts_with(name + ".")) continue;
    return place_of(item, key.substr(name.size() + 1));
  }
  return root.place;
}

std::string shown(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull: return "nothing";
    case Node::Kind::kValue: return "'" + shown_text(node.text) + "'";
    case Node::Kind::kList: return "a list";
    case Node::Kind::kMap: return "a map";
  }
  return "";
}

std::string shown_text(std::string_view text) { return printable(text, 60); }

}  // namespace braid::config
