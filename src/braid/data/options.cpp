#include "braid/data/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "braid/base/error.h"
#include "braid/base/text.h"

namespace braid::data {
namespace {

using Kind = Option::Kind;

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || rest != end) return std::nullopt;
  return number;
}

std::optional<double> read_finite(std::string_view text) {
  std::optional<double> number = read_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<bool> read_flag(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

std::string trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return "";
  return std::string(
      text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

// Where the quotes at the front of the text end; npos: nowhere.
size_t closing_quote(std::string_view text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i;
    }
  }
  return text.npos;
}

// The text between quotes, as YAML writes it.
std::string unquoted(std::string_view text) {
  constexpr std::string_view kEscapes = "ntr0", kMeaning("\n\t\r\0", 4);
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    bool is_escape = text[i] == '\\' && i + 1 < text.size();
    if (is_escape) ++i;
    size_t escape = is_escape ? kEscapes.find(text[i]) : text.npos;
    plain += escape == text.npos ? text[i] : kMeaning[escape];
  }
  return plain;
}

struct Item {
  std::string text;
  bool is_quoted = false;
};

// "[a, b]" or "a, b" -> {"a", "b"}; "a" may be quoted, with commas in it.
std::vector<Item> split_items(std::string_view text) {
  std::string inner = trimmed(text);
  if (inner.starts_with('[') && inner.ends_with(']')) {
    inner = inner.substr(1, inner.size() - 2);
  }
  std::vector<Item> items;
  std::string_view rest = inner;
  for (;;) {
    while (rest.starts_with(' ') || rest.starts_with('\t')) {
      rest.remove_prefix(1);
    }
    size_t quote = rest.starts_with('"') ? closing_quote(rest) : rest.npos;
    size_t comma = rest.find(',', quote == rest.npos ? 0 : quote);
    std::string item = trimmed(rest.substr(0, comma));
    bool is_quoted = quote != rest.npos && quote + 1 == item.size();
    if (is_quoted) item = unquoted(rest.substr(1, quote - 1));
    items.push_back({item, is_quoted});
    if (comma == rest.npos) return items;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> texts;
  for (Item& item : split_items(text)) texts.push_back(std::move(item.text));
  return texts;
}

bool is_number_list(std::string_view text) {
  return std::ranges::all_of(split_list(text), [](const std::string& item) {
    return read_finite(item).has_value();
  });
}

bool is_name_list(std::string_view text) {
  return std::ranges::all_of(split_items(text), [](const Item& item) {
    return item.is_quoted || !item.text.empty();
  });
}

bool is_file_list(std::string_view text) {
  return std::ranges::all_of(split_list(text), [](const std::string& item) {
    size_t equals = item.find('=');
    return equals != item.npos && equals > 0 && equals + 1 < item.size();
  });
}

bool is_at_least(std::string_view text, int64_t least) {
  std::optional<int64_t> number = read_number<int64_t>(text);
  return number && *number >= least;
}

bool fits(const Option& option, const std::string& text) {
  switch (option.kind) {
    case Kind::kText: return true;
    case Kind::kPath: return !text.empty();
    case Kind::kWhole: return is_at_least(text, 1);
    case Kind::kCount: return is_at_least(text, 0);
    case Kind::kNumber: return read_finite(text).has_value();
    case Kind::kFlag: return read_flag(text).has_value();
    case Kind::kChoice: return std::ranges::count(option.choices, text) > 0;
    case Kind::kNumbers: return is_number_list(text);
    case Kind::kNames: return is_name_list(text);
    case Kind::kFiles: return is_file_list(text);
  }
  return false;
}

std::string nearest_hint(std::string_view wanted,
                         const std::vector<std::string>& known) {
  return known.empty() ? ""
                       : fmt::format("\nHINT: {}", name_hint(wanted, known));
}

constexpr const char* kAnyName = "*";

}  // namespace

std::string kind_text(const Option& option) {
  switch (option.kind) {
    case Kind::kText: return "text";
    case Kind::kPath: return "a path";
    case Kind::kWhole: return "a whole number from 1";
    case Kind::kCount: return "a whole number from 0";
    case Kind::kNumber: return "a number";
    case Kind::kFlag: return "true or false";
    case Kind::kChoice:
      return fmt::format("one of {}", fmt::join(option.choices, ", "));
    case Kind::kNumbers: return "a number, or a list as [0.5, 0.4]";
    case Kind::kNames: return "a name, or a list as [a, b]";
    case Kind::kFiles: return "a list as [x=images.npy, y=labels.npy]";
  }
  return "";
}

Option limit_option() {
  return {"limit", Kind::kCount, "0", "use the first samples only; 0: all"};
}

Option seed_option(std::string meaning) {
  return {"seed", Kind::kCount, "0", std::move(meaning)};
}

Option choice_option(std::string name, std::vector<std::string> choices,
                     std::string meaning) {
  std::string first = choices.front();
  return {std::move(name), Kind::kChoice, first, std::move(meaning),
          std::move(choices)};
}

Option any_option(std::string meaning) {
  return {kAnyName, Kind::kText, "", std::move(meaning)};
}

bool takes_any_option(const std::vector<Option>& table) {
  return std::ranges::find(table, kAnyName, &Option::name) != table.end();
}

Options::Options(std::string who, std::vector<Option> table, const Texts& texts,
                 std::filesystem::path base)
    : who_(std::move(who)), table_(std::move(table)), base_(std::move(base)) {
  for (const Option& row : table_) {
    if (!row.value.empty()) values_[row.name] = row.value;
  }
  for (const auto& [name, text] : texts) set(name, text);
  for (const Option& row : table_) {
    if (!row.required || has(row.name)) continue;
    fail_usage("[{}] expected the option '{}', got none\nHINT: {}: {} ({})",
               who_, row.name, row.name, row.meaning, kind_text(row));
  }
}

void Options::set(const std::string& name, const std::string& text) {
  auto row = std::ranges::find(table_, name, &Option::name);
  if (row == table_.end()) {
    row = std::ranges::find(table_, kAnyName, &Option::name);
  }
  if (row == table_.end()) {
    std::vector<std::string> known;
    for (const Option& option : table_) known.push_back(option.name);
    fail_usage("[{}] unknown option '{}'{}", who_, name,
               nearest_hint(name, known));
  }
  if (!fits(*row, text)) {
    fail_usage("[{}] expected {} for '{}', got '{}'{}", who_, kind_text(*row),
               name, text, nearest_hint(text, row->choices));
  }
  values_[name] = text;
  given_.push_back(name);
}

bool Options::has(std::string_view name) const {
  return values_.contains(option(name).name);
}

bool Options::is_given(std::string_view name) const {
  return std::ranges::count(given_, option(name).name) > 0;
}

const Option& Options::option(std::string_view name) const {
  auto row = std::ranges::find(table_, name, &Option::name);
  if (row != table_.end()) return *row;
  throw std::logic_error(
      fmt::format("[{}] the table has no option '{}'", who_, name));
}

const std::string& Options::text(std::string_view name) const {
  auto found = values_.find(option(name).name);
  if (found != values_.end()) return found->second;
  throw std::logic_error(
      fmt::format("[{}] the option '{}' is absent", who_, name));
}

std::filesystem::path Options::path(std::string_view name) const {
  return base_ / text(name);
}

int64_t Options::whole(std::string_view name) const {
  return read_number<int64_t>(text(name)).value();
}

double Options::number(std::string_view name) const {
  return read_finite(text(name)).value();
}

bool Options::flag(std::string_view name) const {
  return read_flag(text(name)).value();
}

std::vector<double> Options::numbers(std::string_view name) const {
  std::vector<double> numbers;
  for (const std::string& item : names(name)) {
    numbers.push_back(read_finite(item).value());
  }
  return numbers;
}

std::vector<std::string> Options::names(std::string_view name) const {
  return split_list(text(name));
}

std::vector<std::pair<std::string, std::filesystem::path>> Options::files(
    std::string_view name) const {
  std::vector<std::pair<std::string, std::filesystem::path>> files;
  for (const std::string& item : names(name)) {
    size_t equals = item.find('=');
    files.emplace_back(trimmed(item.substr(0, equals)),
                       base_ / trimmed(item.substr(equals + 1)));
  }
  return files;
}

}  // namespace braid::data
