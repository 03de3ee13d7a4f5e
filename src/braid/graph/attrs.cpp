#include "braid/graph/attrs.h"

#include <algorithm>

#include "braid/base/error.h"

namespace braid {
namespace {

template <class T>
const T& typed(const Attrs& attrs, std::string_view name, const char* kind) {
  const Attr* attr = attrs.find(name);
  if (!attr) fail_usage("[attributes] '{}' is missing", name);
  const T* value = std::get_if<T>(attr);
  if (!value) fail_usage("[attributes] '{}' is not {}", name, kind);
  return *value;
}

bool name_less(const Attrs::Item& item, std::string_view name) {
  return item.first < name;
}

}  // namespace

Attrs::Attrs(std::initializer_list<Item> items) {
  for (const Item& item : items) set(item.first, item.second);
}

Attrs& Attrs::set(std::string_view name, Attr value) {
  auto at = std::lower_bound(items_.begin(), items_.end(), name, name_less);
  if (at != items_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    items_.emplace(at, std::string(name), std::move(value));
  }
  return *this;
}

void Attrs::erase(std::string_view name) {
  std::erase_if(items_, [&](const Item& item) { return item.first == name; });
}

const Attr* Attrs::find(std::string_view name) const {
  auto at = std::lower_bound(items_.begin(), items_.end(), name, name_less);
  return at != items_.end() && at->first == name ? &at->second : nullptr;
}

bool Attrs::flag(std::string_view name) const {
  return typed<bool>(*this, name, "true or false");
}

int64_t Attrs::integer(std::string_view name) const {
  return typed<int64_t>(*this, name, "an integer");
}

double Attrs::number(std::string_view name) const {
  const Attr* attr = find(name);
  if (attr && std::holds_alternative<int64_t>(*attr)) {
    return static_cast<double>(std::get<int64_t>(*attr));
  }
  return typed<double>(*this, name, "a number");
}

const std::string& Attrs::text(std::string_view name) const {
  return typed<std::string>(*this, name, "a text");
}

const Ints& Attrs::ints(std::string_view name) const {
  return typed<Ints>(*this, name, "a list of integers");
}

bool Attrs::flag_or(std::string_view name, bool fallback) const {
  return has(name) ? flag(name) : fallback;
}

int64_t Attrs::integer_or(std::string_view name, int64_t fallback) const {
  return has(name) ? integer(name) : fallback;
}

double Attrs::number_or(std::string_view name, double fallback) const {
  return has(name) ? number(name) : fallback;
}

}  // namespace braid
