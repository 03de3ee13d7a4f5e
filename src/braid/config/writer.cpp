#include "braid/config/writer.h"

#include "braid/config/value_types.h"

namespace braid::config {

void Writer::rest(Options& options, Name, Meaning) {
  for (const Option& option : options) {
    add(option.name, option_node(option.text));
  }
}

// An optional value that is absent stays so.
void Writer::value(const Field& field) {
  Node node = field.write();
  if (!node.is_null()) add(field.name, std::move(node));
}

void Writer::group(const Group& group) {
  if (!group.is_present) return;
  Writer inner;
  group.describe(inner);
  add(group.name, inner.take());
}

void Writer::groups(const Items& items) {
  Node all = items.is_list ? make_list() : make_map();
  for (const std::string& name : items.names) {
    Writer inner;
    items.describe(name, inner);
    all.items.push_back(inner.take());
    if (!items.is_list) all.items.back().key = name;
  }
  add(items.name, std::move(all));
}

void Writer::add(std::string_view name, Node node) {
  node.key = name;
  map_.items.push_back(std::move(node));
}

Node without_defaults(Node node, const Node& defaults) {
  if (!node.is_map()) return node;
  std::vector<Node> kept;
  for (Node& item : node.items) {
    const Node* other = defaults.find(item.key);
    if (other && same_content(item, *other)) continue;
    kept.push_back(other ? without_defaults(std::move(item), *other)
                         : std::move(item));
  }
  node.items = std::move(kept);
  return node;
}

}  // namespace braid::config
