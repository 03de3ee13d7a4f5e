// Makes fields of values: one, an optional one, a list of them.
#pragma once

#include "braid/base/error.h"
#include "braid/config/section.h"
#include "braid/config/value_types.h"

namespace braid::config {

// Takes one value, or tells what is wrong with it.
template <class T>
std::optional<Problem> take(const ValueType<T>& type, const Node& node,
                            const std::filesystem::path& folder, T& value) {
  if (node.is_value()) {
    if (auto read = type.read(node, folder)) {
      value = *read;
      return std::nullopt;
    }
  }
  return wrong_value(type.article, type.hint, node);
}

template <class T>
Field one_field(std::string_view name, const ValueType<T>& type, T& value,
                std::string_view meaning) {
  Field field{name, type.name, meaning, {}, {}};
  field.read = [type, &value](const Node& node,
                              const std::filesystem::path& folder) {
    return take(type, node, folder, value);
  };
  field.write = [type, &value] { return type.write(value); };
  return field;
}

template <class T>
Field optional_field(std::string_view name, const ValueType<T>& type,
                     std::optional<T>& value, std::string_view meaning) {
  Field field{name, type.name, meaning, {}, {}};
  field.read =
      [type, &value](
          const Node& node,
          const std::filesystem::path& folder) -> std::optional<Problem> {
    value.reset();
    if (node.is_null()) return std::nullopt;
    T read{};
    std::optional<Problem> wrong = take(type, node, folder, read);
    if (!wrong) value = read;
    return wrong;
  };
  field.write = [type, &value] { return value ? type.write(*value) : Node{}; };
  return field;
}

template <class T>
Field list_field(std::string_view name, const ValueType<T>& type,
                 std::vector<T>& value, std::string_view meaning) {
  Field field{name, fmt::format("list of {}s", type.name), meaning, {}, {}};
  field.read =
      [type, &value](
          const Node& node,
          const std::filesystem::path& folder) -> std::optional<Problem> {
    if (!node.is_list()) {
      return wrong_value(fmt::format("a list of {}s", type.name),
                         "write it as [a, b]", node);
    }
    std::vector<T> read(node.items.size());
    for (size_t i = 0; i < read.size(); ++i) {
      T item{};
      if (take(type, node.items[i], folder, item)) {
        return Problem{fmt::format("is a list of {}s, got {} in it", type.name,
                                   shown(node.items[i]))};
      }
      read[i] = item;
    }
    value = read;
    return std::nullopt;
  };
  field.write = [type, &value] {
    Node list = make_list();
    for (const T& item : value) list.items.push_back(type.write(item));
    return list;
  };
  return field;
}

template <class T>
Field with_numbers(Field field, const T& value) {
  field.numbers = [&value] {
    return std::vector<double>{static_cast<double>(value)};
  };
  return field;
}

template <class T>
Field with_numbers(Field field, const std::optional<T>& value) {
  field.numbers = [&value] {
    std::vector<double> numbers;
    if (value) numbers.push_back(static_cast<double>(*value));
    return numbers;
  };
  return field;
}

template <class T>
Field with_numbers(Field field, const std::vector<T>& value) {
  field.numbers = [&value] {
    return std::vector<double>(value.begin(), value.end());
  };
  return field;
}

}  // namespace braid::config
