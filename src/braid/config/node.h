// What a configuration file holds, before anyone says what it means: values
// as they were written, lists and maps, each with the place it came from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace braid::config {

// Where something was written. Overrides come from the command line.
struct Place {
  int line = 0;                    // of the file, from 1; 0: not of a file
  std::string override_text = {};  // "optimizer.lr=3e-4"

  // "line 7", "override 'optimizer.lr=3e-4'"; empty when it is nowhere.
  std::string text() const;

  bool operator==(const Place&) const = default;
};

struct Node {
  enum class Kind { kNull, kValue, kList, kMap };

  Kind kind = Kind::kNull;
  std::string text = {};         // of a value
  bool quoted = false;           // a value that can only be a text
  std::string key = {};          // under which its map holds it
  std::vector<Node> items = {};  // of a list or a map, in order
  Place place = {};

  bool is_null() const { return kind == Kind::kNull; }
  bool is_value() const { return kind == Kind::kValue; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }

  // The item of a map; null when there is none.
  const Node* find(std::string_view name) const;
  Node* find(std::string_view name);
};

Node make_value(std::string text, bool quoted = false);
Node make_list(std::vector<Node> items = {});
Node make_map(std::vector<Node> items = {});

// The same content; keys of items count, places and quotes do not.
bool same_content(const Node& a, const Node& b);

// Where a key such as "optimizer.lr" was written, or else what holds it.
Place place_of(const Node& root, std::string_view key);

// For messages: "'fast'", "a list", "a map", "nothing".
std::string shown(const Node& node);

// Long or unprintable text as messages show it.
std::string shown_text(std::string_view text);

}  // namespace braid::config
