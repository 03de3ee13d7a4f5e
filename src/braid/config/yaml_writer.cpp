#include "braid/config/yaml_writer.h"

#include <yaml-cpp/emitter.h>

#include <algorithm>
#include <array>

#include "braid/base/numbers.h"

namespace braid::config {
namespace {

// Characters that readers change or take for the end of a line, and that the
// emitter lets through in plain text.
bool has_odd_characters(const std::string& text) {
  constexpr std::array<std::string_view, 4> kOdd = {
      "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf"};
  auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  return std::ranges::any_of(text, is_control) ||
         std::ranges::any_of(kOdd, [&](std::string_view odd) {
           return text.find(odd) != text.npos;
         });
}

void emit_text(YAML::Emitter& out, const std::string& text, bool quoted) {
  if (quoted || has_odd_characters(text)) out << YAML::DoubleQuoted;
  out << text;
}

bool holds_only_values(const Node& list) {
  return std::ranges::all_of(list.items,
                             [](const Node& n) { return n.is_value(); });
}

void emit(YAML::Emitter& out, const Node& node);

void emit_map(YAML::Emitter& out, const Node& map) {
  out << (map.items.empty() ? YAML::Flow : YAML::Block) << YAML::BeginMap;
  for (const Node& item : map.items) {
    out << YAML::Key;
    emit_text(out, item.key, false);
    out << YAML::Value;
    emit(out, item);
  }
  out << YAML::EndMap;
}

void emit_list(YAML::Emitter& out, const Node& list) {
  out << (holds_only_values(list) ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
  for (const Node& item : list.items) emit(out, item);
  out << YAML::EndSeq;
}

void emit(YAML::Emitter& out, const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull: out << YAML::Null; break;
    case Node::Kind::kMap: emit_map(out, node); break;
    case Node::Kind::kList: emit_list(out, node); break;
    case Node::Kind::kValue: emit_text(out, node.text, node.quoted); break;
  }
}

std::string quoted_text(const std::string& text) {
  YAML::Emitter out;
  out << YAML::DoubleQuoted << text;
  return out.c_str();
}

// Whether a value of a list in one line needs quotes.
bool needs_quotes(const Node& value) {
  constexpr std::string_view kSpecial = ",[]{}\"'\\";
  constexpr std::string_view kSpecialFirst = " &*!|>%@`?#:-~=<";
  const std::string& text = value.text;
  if (value.quoted || text.empty() || text.ends_with(' ') ||
      has_odd_characters(text)) {
    return true;
  }
  bool is_number = parse_number(text).has_value();
  return text.find_first_of(kSpecial) != text.npos ||
         text.find(": ") != text.npos || text.ends_with(':') ||
         text.find(" #") != text.npos ||
         (!is_number && kSpecialFirst.find(text[0]) != text.npos);
}

}  // namespace

std::string yaml_text(const Node& node) {
  YAML::Emitter out;
  emit(out, node);
  return std::string(out.c_str(), out.size()) + "\n";
}

std::string flow_text(const Node& node) {
  if (!node.is_list()) {
    return needs_quotes(node) ? quoted_text(node.text) : node.text;
  }
  std::string list;
  for (const Node& item : node.items) {
    list += (list.empty() ? "" : ",") + flow_text(item);
  }
  return "[" + list + "]";
}

}  // namespace braid::config
