#include "braid/config/value_types.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/base/numbers.h"
#include "braid/base/text.h"
#include "braid/config/yaml_reader.h"
#include "braid/config/yaml_writer.h"

namespace braid::config {
namespace {

using Folder = std::filesystem::path;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(c));
  return text;
}

std::optional<bool> read_flag(const std::string& text) {
  std::string word = lower(text);
  if (word == "yes" || word == "on") return true;
  if (word == "no" || word == "off") return false;
  return parse_flag(word);
}

// 1e4 is whole too, as long as a double holds it exactly.
std::optional<int64_t> read_whole(const std::string& text) {
  if (auto whole = parse_whole(text)) return whole;
  auto number = parse_number(text);
  if (!number || !(std::abs(*number) <= 0x1p53)) return std::nullopt;
  if (std::trunc(*number) != *number) return std::nullopt;
  return static_cast<int64_t>(*number);
}

std::optional<double> read_finite(const std::string& text) {
  auto number = parse_number(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<int64_t> read_bytes(const std::string& text) {
  try {
    return parse_bytes(text);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

// The largest unit that says it exactly.
std::string exact_bytes(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

bool is_null_word(const std::string& text) {
  return text.empty() || text == "~" || lower(text) == "null";
}

std::filesystem::path absolute_path(const std::string& text,
                                    const Folder& folder) {
  if (text.empty()) return {};
  return (folder / text).lexically_normal();
}

// A reader for values that are no texts: quotes make a text.
template <class T>
auto unquoted(std::optional<T> (*read)(const std::string&)) {
  return [read](const Node& node, const Folder&) -> std::optional<T> {
    return node.quoted ? std::nullopt : read(node.text);
  };
}

// "f32 or bf16"
std::string words_of(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : " or ";
    text += words[i];
  }
  return text;
}

}  // namespace

ValueType<int64_t> whole_type() {
  return {"whole number", "a whole number", "write it as 100 or 1e4",
          unquoted(read_whole),
          [](int64_t v) { return make_value(std::to_string(v)); }};
}

ValueType<int64_t> bytes_type() {
  return {"bytes", "a number of bytes", "write it as 512MiB or 4GiB",
          [](const Node& node, const Folder&) { return read_bytes(node.text); },
          [](int64_t v) { return make_value(exact_bytes(v)); }};
}

ValueType<double> number_type() {
  return {"number", "a number", "write it as 0.1 or 3e-4",
          unquoted(read_finite),
          [](double v) { return make_value(yaml_number(v)); }};
}

ValueType<bool> flag_type() {
  return {"true or false", "true or false", "", unquoted(read_flag),
          [](bool v) { return make_value(v ? "true" : "false"); }};
}

ValueType<std::string> text_type() {
  return {
      "text", "a text", "",
      [](const Node& node, const Folder&) { return std::optional(node.text); },
      text_node};
}

ValueType<std::string> choice_type(const std::vector<std::string>& allowed) {
  auto read = [allowed](const Node& node,
                        const Folder&) -> std::optional<std::string> {
    if (std::ranges::count(allowed, node.text) == 0) return std::nullopt;
    return node.text;
  };
  return {words_of(allowed), words_of(allowed), "", read, text_node};
}

ValueType<std::filesystem::path> path_type() {
  return {"path", "a path", "",
          [](const Node& node, const Folder& folder) {
            return std::optional(absolute_path(node.text, folder));
          },
          [](const std::filesystem::path& v) { return text_node(v.string()); }};
}

Problem wrong_value(const std::string& article, const std::string& hint,
                    const Node& node) {
  std::string text = fmt::format("is {}, got {}", article, shown(node));
  if (!node.quoted) return {text, hint};
  return {text + " in quotes", "quotes make it a text: leave them out"};
}

Node text_node(const std::string& text) {
  bool looks_typed = is_null_word(text) || parse_number(text).has_value() ||
                     read_flag(text).has_value();
  return make_value(text, looks_typed);
}

std::optional<std::string> option_text(const Node& node) {
  if (node.is_value()) return node.text;
  if (!node.is_list()) return std::nullopt;
  for (const Node& item : node.items) {
    if (!option_text(item)) return std::nullopt;
  }
  return flow_text(node);
}

Node option_node(const std::string& text) {
  if (text.starts_with('[')) {
    Report report("", "");
    Node list = parse_yaml(text, report);
    if (report.empty() && option_text(list) == text) return list;
  }
  return make_value(text, is_null_word(text));
}

}  // namespace braid::config
