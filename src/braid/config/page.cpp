#include "braid/config/page.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/config/yaml_writer.h"

namespace braid::config {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kColumn = 28;  // where meanings begin

std::string initial_text(const Node& node) {
  if (node.is_null() || node.is_map()) return "";
  if (node.is_list() && node.items.empty()) return "";
  return node.is_value() ? node.text : flow_text(node);
}

// Text in a table must not end its cell.
std::string cell(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

std::string quoted(const std::string& text) {
  return text.empty() ? "" : "`" + cell(text) + "`";
}

// Words in lines that begin at the column of meanings.
std::string wrapped(std::string_view words) {
  std::string text;
  size_t used = 0;
  while (!words.empty()) {
    size_t end = std::min(words.find(' '), words.size());
    bool fits = kColumn + used + 1 + end <= kWidth;
    if (used > 0) text += fits ? " " : "\n" + std::string(kColumn, ' ');
    used = used > 0 && fits ? used + 1 + end : end;
    text += words.substr(0, end);
    words.remove_prefix(std::min(words.size(), end + 1));
  }
  return text;
}

std::string help_line(const Row& row) {
  std::string words = row.meaning;
  if (!row.initial.empty()) words += fmt::format(" [{}]", row.initial);
  std::string key = "  " + row.key;
  bool fits = key.size() + 2 <= kColumn;
  std::string gap = fits ? std::string(kColumn - key.size(), ' ')
                         : "\n" + std::string(kColumn, ' ');
  return key + gap + wrapped(words) + "\n";
}

}  // namespace

void RowCollector::bare(Name key) { bare_key_ = key; }

void RowCollector::rest(Options&, Name what, Meaning meaning) {
  rows_.push_back(
      {prefix_ + std::string(what), "value or list", "", std::string(meaning)});
}

void RowCollector::value(const Field& field) {
  rows_.push_back({prefix_ + std::string(field.name), field.type,
                   initial_text(field.write()), std::string(field.meaning)});
}

void RowCollector::limit(const Limit& limit) {
  rows_.back().type += ", " + limit.text();
}

void RowCollector::group(const Group& group) {
  std::string key = prefix_ + std::string(group.name);
  add_section({key, "section", "", std::string(group.meaning)}, group.type,
              key + ".", group.describe);
}

void RowCollector::groups(const Items& items) {
  std::string key = prefix_ + std::string(items.name);
  Row row{key, items.is_list ? "list of sections" : "map of sections", "",
          std::string(items.meaning)};
  add_section(std::move(row), items.type,
              key + (items.is_list ? ".N." : ".NAME."), items.describe_new);
}

void RowCollector::add_section(Row row, std::type_index type,
                               const std::string& prefix,
                               const Describe& describe) {
  RowCollector inner(prefix, seen_);
  auto [first, is_new] = seen_.emplace(type, row.key);
  if (is_new || type == typeid(void)) {
    describe(inner);
  } else {
    row.type += fmt::format(", as `{}`", first->second);
  }
  if (!inner.bare_key_.empty()) {
    row.type += fmt::format(", or `{}` alone", inner.bare_key_);
  }
  rows_.push_back(std::move(row));
  for (Row& of_inner : inner.rows_) rows_.push_back(std::move(of_inner));
}

std::string markdown_table(const std::vector<Row>& rows) {
  std::string text =
      "| Key | Type | Default | Meaning |\n| --- | --- | --- | --- |\n";
  for (const Row& row : rows) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", row.key, cell(row.type),
                        quoted(row.initial), cell(row.meaning));
  }
  return text;
}

std::string help_text(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) text += help_line(row);
  return text;
}

}  // namespace braid::config
