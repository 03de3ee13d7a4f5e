#include "braid/config/reader.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/config/value_types.h"

namespace braid::config {
namespace {

bool has_no_key(const Node& item) { return item.key.empty(); }

// An override without a value: the file did not say it.
bool is_taken_back(const Node& item) {
  return item.is_null() && !item.place.override_text.empty();
}

}  // namespace

Reader::Reader(const Node& node, std::string key, const Folders& folders,
               Report& report, FindKey find_key)
    : node_(&node),
      key_(std::move(key)),
      folders_(folders),
      report_(report),
      find_key_(find_key) {}

void Reader::finish() {
  if (node_->is_null()) return;
  if (!node_->is_map()) {
    add_no_map(*node_);
    return;
  }
  for (const Node& item : node_->items) {
    if (has_no_key(item)) {
      add_no_map(item);
    } else if (std::ranges::count(known_, item.key) == 0) {
      add_unknown(item);
    }
  }
}

// A bare value or list stands alone, or without a key beside those of
// overrides.
void Reader::bare(Name key) {
  if (node_->is_value() || node_->is_list()) {
    made_ = make_map({*node_});
    made_.place = node_->place;
    made_.items[0].key.clear();
  } else if (node_->find("")) {
    made_ = *node_;
  } else {
    return;
  }
  if (made_.find(key)) {
    std::erase_if(made_.items, has_no_key);
  } else {
    made_.find("")->key = key;
  }
  node_ = &made_;
}

void Reader::rest(Options& options, Name, Meaning) {
  if (!node_->is_map()) return;
  for (const Node& item : node_->items) {
    bool is_known = std::ranges::count(known_, item.key) > 0;
    if (is_known || has_no_key(item) || is_taken_back(item)) continue;
    add_option(options, item);
  }
  for (const Node& item : node_->items) known_.push_back(item.key);
}

void Reader::value(const Field& field) {
  last_ = {};
  const Node* node = take(field.name);
  if (!node) return;
  if (auto problem = field.read(*node, folder_of(*node))) {
    add(*node, field.name, *problem);
  } else if (field.numbers) {
    last_ = {node, std::string(field.name), field.numbers()};
  }
}

void Reader::limit(const Limit& limit) {
  for (double number : last_.numbers) {
    if (limit.allows(number)) continue;
    add(*last_.node, last_.name,
        {fmt::format("is {}, got {}", limit.text(), shown(*last_.node))});
    return;
  }
}

void Reader::group(const Group& group) {
  const Node* node = take(group.name);
  if (!node) return;
  if (group.set_present) group.set_present(!node->is_null());
  if (node->is_null()) return;
  Reader inner(*node, full_key(group.name), folders_, report_, find_key_);
  group.describe(inner);
  inner.finish();
}

void Reader::groups(const Items& items) {
  const Node* node = take(items.name);
  if (!node) return;
  items.clear();
  if (node->is_null()) return;
  bool fits = items.is_list ? node->is_list() : node->is_map();
  if (!fits) {
    std::string article = items.is_list ? "a list of maps" : "a map of maps";
    add(*node, items.name, wrong_value(article, "", *node));
    return;
  }
  for (size_t i = 0; i < node->items.size(); ++i) {
    const Node& item = node->items[i];
    read_item(items, item, items.is_list ? std::to_string(i) : item.key);
  }
}

void Reader::read_item(const Items& items, const Node& item,
                       const std::string& name) {
  Reader inner(item, full_key(items.name) + "." + name, folders_, report_,
               find_key_);
  items.describe(name, inner);
  inner.finish();
}

const Node* Reader::take(Name name) {
  known_.emplace_back(name);
  const Node* node = node_->find(name);
  return node && is_taken_back(*node) ? nullptr : node;
}

std::string Reader::full_key(std::string_view name) const {
  if (key_.empty()) return std::string(name);
  return name.empty() ? key_ : fmt::format("{}.{}", key_, name);
}

const std::filesystem::path& Reader::folder_of(const Node& node) const {
  return node.place.override_text.empty() ? folders_.file : folders_.working;
}

void Reader::add(const Node& node, std::string_view name,
                 const Problem& problem) {
  std::string key = full_key(name);
  std::string who = key.empty() ? "the file" : shown_text(key);
  report_.add(node.place, {who + " " + problem.text, problem.hint});
}

void Reader::add_no_map(const Node& node) {
  add(node, "", wrong_value("a map of keys", "write KEY: VALUE", node));
}

// One that is near stands in the same section; another may have been meant as
// it is called elsewhere.
void Reader::add_unknown(const Node& item) {
  std::string written = shown_text(item.key);
  std::string near = near_name(written, known_);
  std::string elsewhere = find_key_ ? find_key_(item.key) : "";
  bool is_meant = !elsewhere.empty() && elsewhere != full_key(item.key);
  std::string hint = is_meant ? fmt::format("did you mean '{}'?", elsewhere)
                     : near.empty()
                         ? name_hint(written, known_)
                         : fmt::format("did you mean '{}'?", full_key(near));
  report_.add(
      item.place,
      {fmt::format("unknown key '{}'", shown_text(full_key(item.key))), hint});
}

void Reader::add_option(Options& options, const Node& item) {
  auto text = option_text(item);
  if (!text) {
    add(item, item.key, wrong_value("a value or a list", "", item));
    return;
  }
  std::erase_if(options, [&](const Option& o) { return o.name == item.key; });
  options.push_back(
      {item.key, *text, report_.place_text(item.place), folder_of(item)});
}

}  // namespace braid::config
