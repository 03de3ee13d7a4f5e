// Tables as text: x is a row of numbers, y a label or a number.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/data/csv_reader.h"
#include "braid/data/rows.h"
#include "braid/data/source_rows.h"
#include "braid/io/problems.h"

namespace braid::data {
namespace {

using Kind = Option::Kind;
using Cells = std::vector<std::string>;

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return std::nullopt;
  text = text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  bool is_all = error == std::errc() && rest == end;
  return is_all ? std::optional(number) : std::nullopt;
}

// The table as it grows, and what its columns mean.
struct Table {
  Cells header;  // empty: columns have numbers only
  size_t width = 0;
  std::vector<size_t> inputs;   // columns of x
  std::optional<size_t> label;  // column of y
  std::vector<float> x;
  std::vector<std::string> labels;
  std::vector<int64_t> lines;  // where each row began
  std::vector<float> y_numbers;
  std::vector<int64_t> y_classes;
  Cells class_names;  // empty: labels are their own numbers

  std::string column_name(size_t column) const {
    return header.empty()
               ? fmt::format("column {}", column)
               : fmt::format("column '{}'", io::shown(header[column]));
  }
};

char separator_of(const Options& options) {
  const std::string& name = options.text("separator");
  if (name == "semicolon") return ';';
  return name == "tab" ? '\t' : name == "space" ? ' ' : ',';
}

bool is_header(const Options& options, const Cells& first) {
  const std::string& choice = options.text("header");
  if (choice != "auto") return choice == "yes";
  return std::ranges::none_of(first, [](const std::string& cell) {
    return read_number<double>(cell).has_value();
  });
}

// A column by name or number; -1 is the last.
size_t find_column(const Options& options, const Table& table,
                   const std::string& text) {
  auto named = std::ranges::find(table.header, text);
  if (named != table.header.end()) {
    return static_cast<size_t>(named - table.header.begin());
  }
  auto width = static_cast<int64_t>(table.width);
  int64_t number = read_number<int64_t>(text).value_or(width);
  if (number >= -width && number < width) {
    return static_cast<size_t>(number < 0 ? number + width : number);
  }
  std::string nearest = nearest_name(text, table.header);
  fail_usage(
      "[{}] expected a column by name or by number from 0 to {}, got "
      "'{}' ({}){}",
      options.who(), width - 1, text, options.path("file").string(),
      nearest.empty() ? "" : "\nHINT: did you mean '" + nearest + "'?");
}

void choose_columns(const Options& options, Table& table) {
  if (!options.text("label").empty()) {
    table.label = find_column(options, table, options.text("label"));
  }
  if (options.has("columns")) {
    for (const std::string& name : options.names("columns")) {
      table.inputs.push_back(find_column(options, table, name));
    }
    return;
  }
  for (size_t i = 0; i < table.width; ++i) {
    if (i != table.label) table.inputs.push_back(i);
  }
  if (table.inputs.empty()) {
    fail_world("[{}] expected a column besides the label, got none ({})",
               options.who(), options.path("file").string());
  }
}

float number_in(const CsvReader& reader, const Table& table, const Cells& cells,
                size_t column) {
  std::optional<double> number = read_number<double>(cells[column]);
  auto kept = static_cast<float>(number.value_or(INFINITY));
  if (!std::isfinite(kept)) {
    reader.fail(fmt::format("a number in {}", table.column_name(column)),
                fmt::format("'{}'", io::shown(cells[column])), reader.line());
  }
  return kept;
}

void add_row(const Options& options, const CsvReader& reader,
             const Cells& cells, Table& table) {
  if (cells.size() != table.width) {
    reader.fail(fmt::format("{} cells", table.width),
                fmt::format("{}", cells.size()), reader.line());
  }
  for (size_t column : table.inputs) {
    table.x.push_back(number_in(reader, table, cells, column));
  }
  table.lines.push_back(reader.line());
  if (!table.label) return;
  if (options.text("target") == "number") {
    table.y_numbers.push_back(number_in(reader, table, cells, *table.label));
  } else {
    table.labels.push_back(cells[*table.label]);
  }
}

void read_rows(const Options& options, CsvReader& reader, Table& table) {
  Cells cells;
  if (!reader.next(cells)) reader.fail("rows", "an empty file", 1);
  table.width = cells.size();
  bool more = true;
  if (is_header(options, cells)) {
    table.header = cells;
    more = reader.next(cells);
  }
  choose_columns(options, table);
  if (!more) reader.fail("rows", "a header alone", 1);
  for (; more; more = reader.next(cells)) {
    add_row(options, reader, cells, table);
  }
}

// A label that is a class by its own number; 3.0 is one too.
std::optional<int64_t> whole_label(const std::string& label) {
  if (auto whole = read_number<int64_t>(label)) return whole;
  constexpr double kMost = 1LL << 53;
  double number = read_number<double>(label).value_or(-1);
  bool is_whole = number >= 0 && number < kMost && std::trunc(number) == number;
  return is_whole ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
}

bool are_whole(const Cells& labels) {
  return std::ranges::all_of(labels, [](const std::string& label) {
    return whole_label(label).value_or(-1) >= 0;
  });
}

// Numbered as words, 12.5 would be the class before 9: nobody means that.
void refuse_fractions(const CsvReader& reader, const Table& table) {
  auto number = [](const std::string& label) {
    return read_number<double>(label);
  };
  auto is_number = [&](const std::string& label) {
    return number(label).has_value();
  };
  if (!std::ranges::all_of(table.labels, is_number)) return;
  for (size_t row = 0; row < table.labels.size(); ++row) {
    double value = number(table.labels[row]).value();
    if (std::trunc(value) == value) continue;
    reader.fail(
        fmt::format("classes in {}", table.column_name(*table.label)),
        fmt::format("the number {}", io::shown(table.labels[row])),
        table.lines[row],
        "'target: number' learns numbers; 'names' lists labels that are "
        "classes though they look like numbers");
  }
}

void refuse_empty_labels(const CsvReader& reader, const Table& table) {
  auto empty = std::ranges::find(table.labels, "");
  if (empty == table.labels.end()) return;
  reader.fail(fmt::format("a label in {}", table.column_name(*table.label)),
              "''",
              table.lines[static_cast<size_t>(empty - table.labels.begin())],
              "leave such rows out, or list '' among 'names'");
}

// The class of every name; empty when labels are their own numbers.
using Classes = std::map<std::string, int64_t>;

Classes class_names(const Options& options, const CsvReader& reader,
                    const Table& table) {
  const Cells& labels = table.labels;
  Classes classes;
  if (options.has("names")) {
    for (const std::string& name : options.names("names")) {
      classes.emplace(name, static_cast<int64_t>(classes.size()));
    }
  } else if (!are_whole(labels)) {
    refuse_fractions(reader, table);
    refuse_empty_labels(reader, table);
    for (const std::string& label : labels) classes.emplace(label, 0);
    int64_t next = 0;
    for (auto& [name, number] : classes) number = next++;
  }
  return classes;
}

int64_t class_of(const Classes& names, const std::string& label) {
  if (names.empty()) return whole_label(label).value();
  auto found = names.find(label);
  return found == names.end() ? -1 : found->second;
}

// Numbers the labels and returns how many classes there are.
int64_t number_labels(const Options& options, const CsvReader& reader,
                      Table& table) {
  Classes names = class_names(options, reader, table);
  int64_t classes = options.whole("classes");
  if (classes == 0) classes = static_cast<int64_t>(names.size());
  int64_t most = 0;
  for (size_t row = 0; row < table.labels.size(); ++row) {
    int64_t number = class_of(names, table.labels[row]);
    if (number < 0 || (classes > 0 && number >= classes)) {
      reader.fail(number < 0 ? "one of the given names as label"
                             : fmt::format("a class below {}", classes),
                  fmt::format("'{}'", io::shown(table.labels[row])),
                  table.lines[row]);
    }
    table.y_classes.push_back(number);
    most = std::max(most, number);
  }
  table.class_names.resize(names.size());
  for (const auto& [name, number] : names) {
    table.class_names[static_cast<size_t>(number)] = name;
  }
  return classes > 0 ? classes : most + 1;
}

Column column_of(const Table& table, const std::string& field, Element element,
                 io::Bytes bytes, const std::string& file) {
  auto rows = static_cast<int64_t>(table.lines.size());
  Shape shape = {rows};
  if (field == "x") shape.push_back(static_cast<int64_t>(table.inputs.size()));
  return {.field = field,
          .element = element,
          .shape = shape,
          .bytes = bytes,
          .file = file,
          .is_finite = true,
          .lines = table.lines};
}

DatasetPtr open_csv(const Options& options) {
  std::string path = options.path("file").string();
  io::MappedFile file(options.path("file"));
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                        file.bytes().size());
  CsvReader reader(text, separator_of(options), options.who(), path);
  auto table = std::make_shared<Table>();
  read_rows(options, reader, *table);
  file.check();
  int64_t classes = number_labels(options, reader, *table);
  constexpr Element kFloat = {Element::Kind::kFloat, 4};
  std::vector<Column> columns = {
      column_of(*table, "x", kFloat, std::as_bytes(std::span(table->x)), path)};
  if (!table->y_numbers.empty()) {
    columns.push_back(column_of(
        *table, "y", kFloat, std::as_bytes(std::span(table->y_numbers)), path));
  } else if (table->label) {
    columns.push_back(column_of(*table, "y", {Element::Kind::kSigned, 8},
                                std::as_bytes(std::span(table->y_classes)),
                                path));
    columns.back().class_names = table->class_names;
  }
  return rows_dataset(options.who(), std::move(columns), classes, table);
}

}  // namespace

Source csv_source() {
  return {"csv",
          "a table as text",
          "x f32 [columns], y i64 (or f32)",
          {{"file", Kind::kPath, "", "to read", {}, true},
           choice_option("separator", {"comma", "semicolon", "tab", "space"},
                         "between cells"),
           choice_option("header", {"auto", "yes", "no"},
                         "whether the first line names the columns; auto: when "
                         "it holds no number"),
           {"label", Kind::kText, "-1",
            "column of y, by name or by number from 0, -1 is the last; empty: "
            "there is none"},
           {"columns", Kind::kNames, "",
            "of x, by name or number; else all but the label"},
           choice_option("target", {"class", "number"}, "what y is"),
           {"names", Kind::kNames, "",
            "labels in the order of their classes; else whole numbers stay and "
            "other labels are sorted"},
           {"classes", Kind::kCount, "0",
            "how many there are; 0: as many as the file shows"}},
          open_csv};
}

}  // namespace braid::data
