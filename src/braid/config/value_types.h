// Types of single values: how each is read from a node by its schema, named in
// errors and tables, and written.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "braid/config/node.h"
#include "braid/config/report.h"

namespace braid::config {

template <class T>
struct ValueType {
  std::string name;     // "whole number"
  std::string article;  // "a whole number"
  std::string hint;     // how to write one
  // Nothing when the node, a value, is none. Relative paths begin at the
  // folder.
  std::function<std::optional<T>(const Node&, const std::filesystem::path&)>
      read;
  std::function<Node(const T&)> write;
};

ValueType<int64_t> whole_type();
ValueType<int64_t> bytes_type();
ValueType<double> number_type();
ValueType<bool> flag_type();
ValueType<std::string> text_type();
ValueType<std::string> choice_type(const std::vector<std::string>& allowed);
ValueType<std::filesystem::path> path_type();

// "is a number, got 'fast'"
Problem wrong_value(const std::string& article, const std::string& hint,
                    const Node& node);

// A text, in quotes where readers might take it for something else.
Node text_node(const std::string& text);

// A value, or a list as one text: "[1,2]"; nothing for other nodes.
std::optional<std::string> option_text(const Node& node);
// The node that has this text.
Node option_node(const std::string& text);

}  // namespace braid::config
