#include "braid/io/pt2/output_names.h"

#include "braid/io/pt2/json_tree.h"

namespace braid::io::pt2 {
namespace {

Json parsed(std::string_view text) {
  Problems unused;
  JsonDocument document("out_spec", unused);
  return document.parse(text, {.bytes = 1 << 20, .depth = 64})
             ? std::move(document.root)
             : Json();
}

// A dict's description has its keys as a list in a text of its own.
std::vector<std::string> keys_of(const Json& node, size_t children) {
  const Json& context = node.value("context", Json());
  Json keys = context.is_string() ? parsed(context.get<std::string>()) : Json();
  if (!keys.is_array() || keys.size() != children) return {};
  std::vector<std::string> names;
  for (const Json& key : keys) {
    if (!key.is_string()) return {};
    names.push_back(key.get<std::string>());
  }
  return names;
}

std::string below(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

void add_names(const Json& node, const std::string& path,
               std::vector<std::string>& names) {
  if (!node.is_object() || node.value("type", Json()).is_null()) {
    return names.push_back(path);
  }
  const Json children = node.value("children_spec", Json());
  if (!children.is_array()) return;
  std::vector<std::string> keys = keys_of(node, children.size());
  for (size_t i = 0; i < children.size(); ++i) {
    std::string place = path.empty() ? "" : below(path, std::to_string(i));
    add_names(children[i], keys.empty() ? place : below(path, keys[i]), names);
  }
}

}  // namespace

std::vector<std::string> output_names(std::string_view tree) {
  Json root = parsed(tree);
  std::vector<std::string> names;
  if (root.is_array() && root.size() == 2) add_names(root[1], "", names);
  return names;
}

}  // namespace braid::io::pt2
