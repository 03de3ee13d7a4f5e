#include "braid/io/pt2/json_tree.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <vector>

namespace braid::io::pt2 {
namespace {

// Builds the tree token by token. The library's own builder knows no limits
// and takes the last of equal keys in silence.
class TreeBuilder final : public nlohmann::json_sax<Json> {
 public:
  TreeBuilder(Json& root, const JsonLimits& limits)
      : root_(root), limits_(limits) {}

  // What was wrong; empty when nothing was.
  const std::string& problem() const { return problem_; }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override {
    return add(value);
  }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t&) override { return fail("unexpected bytes"); }

  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    auto [member, is_new] = stack_.back()->emplace(name, nullptr);
    if (!is_new) return fail(fmt::format("the key '{}' twice", shown(name)));
    member_ = &*member;
    return true;
  }

  bool parse_error(size_t position, const std::string&,
                   const Json::exception&) override {
    return fail(fmt::format("not valid JSON at byte {}", position));
  }

 private:
  bool fail(std::string text) {
    problem_ = std::move(text);
    return false;
  }

  // Puts the value where the parser is; null when there are too many.
  Json* put(Json value) {
    if (++count_ > limits_.values) {
      fail(fmt::format("more than {} values", limits_.values));
      return nullptr;
    }
    if (stack_.empty()) return &(root_ = std::move(value));
    if (stack_.back()->is_object()) return &(*member_ = std::move(value));
    stack_.back()->push_back(std::move(value));
    return &stack_.back()->back();
  }

  template <class T>
  bool add(T value) {
    return put(Json(std::move(value))) != nullptr;
  }

  bool open(Json container) {
    if (stack_.size() == limits_.depth) {
      return fail(fmt::format("nested deeper than {}", limits_.depth));
    }
    Json* place = put(std::move(container));
    if (place) stack_.push_back(place);
    return place != nullptr;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  Json& root_;
  const JsonLimits& limits_;
  std::vector<Json*> stack_;  // open containers: the last child of each other
  Json* member_ = nullptr;    // of the innermost object, waits for its value
  size_t count_ = 0;
  std::string problem_;
};

// The path of a value that lies somewhere in the tree. Searched for only when
// a problem is reported, so that places need not carry it.
std::optional<std::string> find_path(const Json& tree, const Json* value) {
  if (&tree == value) return "";
  if (tree.is_object()) {
    for (const auto& [key, item] : tree.items()) {
      auto rest = find_path(item, value);
      if (!rest) continue;
      bool is_key = !rest->empty() && !rest->starts_with('[');
      return shown(key) + (is_key ? "." : "") + *rest;
    }
  } else if (tree.is_array()) {
    for (size_t i = 0; i < tree.size(); ++i) {
      auto rest = find_path(tree[i], value);
      if (!rest) continue;
      std::string index = fmt::format("[{}]", i);
      bool is_key = !rest->empty() && !rest->starts_with('[');
      return index + (is_key ? "." : "") + *rest;
    }
  }
  return std::nullopt;
}

}  // namespace

bool JsonDocument::parse(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    problems->add(name, fmt::format("{} bytes, the limit is {}", text.size(),
                                    limits.bytes));
    return false;
  }
  // The JSON parser takes a zero byte for the end and would skip the rest.
  if (text.find('\0') != text.npos) {
    problems->add(name, "a zero byte in JSON");
    return false;
  }
  TreeBuilder builder(root, limits);
  if (Json::sax_parse(text, &builder)) return true;
  problems->add(name, builder.problem());
  root = nullptr;
  return false;
}

void JsonPlace::fail(std::string_view text) const {
  if (!value_) return;
  Problems& problems = *document_->problems;
  std::string place = document_->name;
  if (!problems.is_full()) {
    std::string path = find_path(document_->root, value_).value_or("");
    if (!path.empty()) place += ": " + path;
  }
  problems.add(place, text);
}

void JsonPlace::add_hint(std::string_view hint) const {
  if (document_) document_->problems->add_hint(hint);
}

size_t JsonPlace::num_problems() const {
  return document_ ? document_->problems->count() : 0;
}

bool JsonPlace::is(Json::value_t type, std::string_view name) const {
  if (!value_) return false;
  if (value_->type() == type) return true;
  fail(fmt::format("expected {}, found {}", name, value_->type_name()));
  return false;
}

JsonPlace JsonPlace::at(std::string_view key) const {
  if (!is(Json::value_t::object, "an object")) return {};
  auto found = value_->find(key);
  if (found != value_->end()) return {document_, &*found};
  fail(fmt::format("no '{}'", key));
  return {};
}

JsonPlace JsonPlace::find(std::string_view key) const {
  if (!is(Json::value_t::object, "an object")) return {};
  auto found = value_->find(key);
  if (found == value_->end() || found->is_null()) return {};
  return {document_, &*found};
}

std::pair<std::string_view, JsonPlace> JsonPlace::only_member() const {
  if (!is(Json::value_t::object, "an object")) return {};
  if (value_->size() != 1) {
    fail(fmt::format("expected one member, found {}", value_->size()));
    return {};
  }
  auto member = value_->begin();
  return {member.key(), JsonPlace(document_, &*member)};
}

std::string JsonPlace::text() const {
  if (!is(Json::value_t::string, "a text")) return "";
  return value_->get_ref<const std::string&>();
}

int64_t JsonPlace::integer() const {
  if (!value_) return 0;
  if (!value_->is_number_integer()) {
    fail(fmt::format("expected an integer, found {}", value_->type_name()));
    return 0;
  }
  if (value_->is_number_unsigned() &&
      !std::in_range<int64_t>(value_->get<uint64_t>())) {
    fail("the integer does not fit into 64 bits");
    return 0;
  }
  return value_->get<int64_t>();
}

bool JsonPlace::boolean() const {
  return is(Json::value_t::boolean, "a boolean") && value_->get<bool>();
}

double JsonPlace::number() const {
  if (!value_) return 0;
  if (value_->is_number()) return value_->get<double>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::string word = value_->is_string() ? text() : "";
  if (word == "Infinity") return kInfinity;
  if (word == "-Infinity") return -kInfinity;
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  fail(fmt::format("expected a number, found {}", value_->type_name()));
  return 0;
}

}  // namespace braid::io::pt2
