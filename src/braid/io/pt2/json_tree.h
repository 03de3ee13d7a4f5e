// JSON from a file that is not trusted: a bounded parser, and places in the
// tree that report what is wrong with them instead of throwing.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "braid/io/problems.h"

namespace braid::io::pt2 {

using Json = nlohmann::json;

struct JsonLimits {
  size_t bytes = size_t{512} << 20;
  size_t depth = 256;         // reading and freeing a tree recurse
  size_t values = 8'000'000;  // each takes up to 200 bytes of memory
};

// One document of an archive and the list that its problems go to. The
// problems are borrowed.
struct JsonDocument {
  JsonDocument(std::string document_name, Problems& list)
      : name(std::move(document_name)), problems(&list) {}

  // False, with one problem added, when the text is not acceptable: not JSON,
  // beyond a limit, or an object with the same key twice.
  bool parse(std::string_view text, const JsonLimits& limits = {});

  std::string name;
  Json root;
  Problems* problems;
};

// A value in a document, or nothing. Reading the wrong type adds a problem
// with the path of the value and gives a default, so that reading goes on;
// reading nothing gives the default in silence.
class JsonPlace {
 public:
  JsonPlace() = default;
  explicit JsonPlace(const JsonDocument& document)
      : document_(&document), value_(&document.root) {}

  explicit operator bool() const { return value_ != nullptr; }

  // The member of an object; missing is a problem.
  JsonPlace at(std::string_view key) const;
  // The same; missing or null is nothing.
  JsonPlace find(std::string_view key) const;
  // Of an object that must have exactly one member: its key and value.
  std::pair<std::string_view, JsonPlace> only_member() const;

  std::string text() const;
  int64_t integer() const;
  bool boolean() const;
  // Also the texts "Infinity", "-Infinity" and "NaN" that torch writes.
  double number() const;

  // Calls f(place) for each element of a list.
  template <class F>
  void each(F f) const {
    if (!is(Json::value_t::array, "a list")) return;
    for (const Json& item : *value_) f(JsonPlace(document_, &item));
  }

  // Calls f(key, place) for each member of an object, sorted by key.
  template <class F>
  void each_member(F f) const {
    if (!is(Json::value_t::object, "an object")) return;
    for (const auto& [key, item] : value_->items()) {
      f(key, JsonPlace(document_, &item));
    }
  }

  // Adds a problem of this place.
  void fail(std::string_view text) const;
  // What to do about it; see Problems.
  void add_hint(std::string_view hint) const;
  // Of the whole list so far.
  size_t num_problems() const;

 private:
  JsonPlace(const JsonDocument* document, const Json* value)
      : document_(document), value_(value) {}

  // Whether the value is of that type; adds a problem when it is another.
  bool is(Json::value_t type, std::string_view name) const;

  const JsonDocument* document_ = nullptr;
  const Json* value_ = nullptr;
};

}  // namespace braid::io::pt2
