// Attributes of a node: a small sorted list of named constants.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace braid {

using Ints = std::vector<int64_t>;
using Attr = std::variant<bool, int64_t, double, std::string, Ints>;

class Attrs {
 public:
  using Item = std::pair<std::string, Attr>;

  Attrs() = default;
  Attrs(std::initializer_list<Item> items);

  // Adds or replaces.
  Attrs& set(std::string_view name, Attr value);

  // Removes; nothing happens when there is none.
  void erase(std::string_view name);

  // Null when there is none.
  const Attr* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  // Typed reads; throw when the attribute is missing or of another type.
  // An integer may be read as a number.
  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const Ints& ints(std::string_view name) const;

  // The same with a default for a missing attribute.
  bool flag_or(std::string_view name, bool fallback) const;
  int64_t integer_or(std::string_view name, int64_t fallback) const;
  double number_or(std::string_view name, double fallback) const;

  const std::vector<Item>& items() const { return items_; }
  bool operator==(const Attrs&) const = default;

 private:
  std::vector<Item> items_;  // sorted by name
};

}  // namespace braid
