#include "braid/config/map_fields.h"

#include <algorithm>

#include "braid/base/call_text.h"
#include "braid/base/error.h"
#include "braid/config/value_types.h"

namespace braid::config {
namespace {

using Folder = std::filesystem::path;
using Wrong = std::optional<Problem>;

// A number, a percentage, a flag or a list of numbers, as a call has it.
std::optional<CallValue> call_value(const Node& node) {
  CallValue value{node.key, {}, node.is_list()};
  const std::vector<Node> one{node};
  const std::vector<Node>& items = node.is_list() ? node.items : one;
  const Node* first = items.data();
  for (const Node& item : items) {
    if (!item.is_value()) return std::nullopt;
    auto percent = parse_percent(item.text);
    if (&item != first && value.is_percent != percent.has_value()) {
      return std::nullopt;
    }
    value.is_percent = percent.has_value();
    auto number = percent ? percent : number_type().read(item, {});
    auto flag = flag_type().read(item, {});
    if (!number && !flag) return std::nullopt;
    value.numbers.push_back(number ? *number : double(*flag));
  }
  return value;
}

void set_value(CallText& call, const CallValue& value) {
  auto at = std::ranges::find(call.values, value.name, &CallValue::name);
  if (at == call.values.end()) {
    call.values.push_back(value);
  } else {
    *at = value;
  }
}

// The call of the item under `name_key`, or of a bare value beside overrides.
std::optional<CallText> named_call(const Node& map, std::string_view name_key) {
  const Node* name = map.find(name_key);
  if (!name) name = map.find("");
  if (!name || !name->is_value()) return std::nullopt;
  try {
    return parse_call(name->text, "", Percents::kTaken);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

// {kind: cosine, steps: 9} -> "cosine(steps=9)"
Wrong read_call_map(const Node& map, std::string_view name_key,
                    std::string& text) {
  auto call = named_call(map, name_key);
  if (!call) {
    return Problem{fmt::format("has no '{}' that is a name", name_key),
                   fmt::format("write {{{}: NAME, ...}}", name_key)};
  }
  for (const Node& item : map.items) {
    if (item.key == name_key || item.key.empty()) continue;
    auto value = call_value(item);
    if (!value) {
      return Problem{
          fmt::format("has '{}', which is a number or a list of "
                      "them, got {}",
                      shown_text(item.key), shown(item))};
    }
    set_value(*call, *value);
  }
  text = call_text(*call);
  return std::nullopt;
}

Wrong read_names(const Node& node, std::map<std::string, std::string>& value) {
  if (!node.is_map()) {
    return wrong_value("a map of texts", "write it as {name: text}", node);
  }
  value.clear();
  for (const Node& item : node.items) {
    if (!item.is_value()) {
      return Problem{fmt::format("is a map of texts, got {} for '{}'",
                                 shown(item), shown_text(item.key))};
    }
    value[item.key] = item.text;
  }
  return std::nullopt;
}

Node write_names(const std::map<std::string, std::string>& value) {
  Node map = make_map();
  for (const auto& [name, text] : value) {
    map.items.push_back(text_node(text));
    map.items.back().key = name;
  }
  return map;
}

Wrong read_call(const Node& node, const CallForm& form, const Folder& folder,
                std::string& call) {
  if (node.is_map()) return read_call_map(node, form.name_key, call);
  if (!node.is_value()) return wrong_value("a text or a map", "", node);
  bool is_path = form.is_path && form.is_path(node.text);
  call = is_path ? path_type().read(node, folder)->string() : node.text;
  return std::nullopt;
}

}  // namespace

Field call_field(std::string_view name, std::string& value,
                 const CallForm& form, std::string_view meaning) {
  Field field{name, "text or map", meaning, {}, {}};
  field.read = [&value, form](const Node& node, const Folder& folder) {
    return read_call(node, form, folder, value);
  };
  field.write = [&value] { return text_node(value); };
  return field;
}

Field names_field(std::string_view name,
                  std::map<std::string, std::string>& value,
                  std::string_view meaning) {
  Field field{name, "map of texts", meaning, {}, {}};
  field.read = [&value](const Node& node, const Folder&) {
    return read_names(node, value);
  };
  field.write = [&value] { return write_names(value); };
  return field;
}

}  // namespace braid::config
