#include "braid/data/csv_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/io/problems.h"

namespace braid::data {
namespace {

using Kind = Option::Kind;
using Cells = std::vector<std::string>;

bool is_header(const Options& options, const Cells& first) {
  const std::string& choice = options.text("header");
  if (choice != "auto") return choice == "yes";
  return std::ranges::none_of(first, [](const std::string& cell) {
    return number_in(cell).has_value();
  });
}

// A column by name or number; -1 is the last.
size_t find_column(const Options& options, const CsvTable& table,
                   const std::string& text) {
  auto named = std::ranges::find(table.header, text);
  if (named != table.header.end()) {
    return static_cast<size_t>(named - table.header.begin());
  }
  auto width = static_cast<int64_t>(table.width);
  int64_t number = whole_in(text).value_or(width);
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

void choose_columns(const Options& options, CsvTable& table) {
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

// The ways of the training data, which those of the evaluation follow.
void follow_known(const Options& options, const Opening& opening,
                  TableFacts& ways) {
  const TableFacts* known = nullptr;
  for (const Field& field : *opening.known) {
    if (field.table) known = field.table.get();
  }
  TableFacts there = known ? *known : TableFacts();
  auto check = [&](const char* name, const std::string& here,
                   const std::string& way) {
    if (!options.is_given(name) || here == way) return;
    fail_usage(
        "[{}] '{}' is '{}' here, and '{}' for the training data, by which "
        "evaluation data are read\nHINT: leave it out of eval.data",
        options.who(), name, here, way);
  };
  auto flag = [](bool value) { return value ? "true" : "false"; };
  check("missing", ways.missing, there.missing);
  check("standardise", flag(ways.standardise), flag(there.standardise));
  check("categories", ways.categories, there.categories);
  check("unknown", ways.unknown, there.unknown);
  ways = there;
}

TableFacts ways_of(const Options& options, const Opening& opening) {
  TableFacts ways{.missing = options.text("missing"),
                  .standardise = options.flag("standardise"),
                  .categories = options.text("categories"),
                  .unknown = options.text("unknown")};
  if (opening.known) follow_known(options, opening, ways);
  bool has_no_use = ways.categories == "none" &&
                    (options.has("category_columns") || ways.unknown == "own");
  if (has_no_use) {
    fail_usage(
        "[{}] 'category_columns' and 'unknown' say more of 'categories', which "
        "are 'none'\nHINT: write categories: one_hot, or codes",
        options.who());
  }
  return ways;
}

// What a table is read with and grows into.
class TableReader {
 public:
  TableReader(const Options& options, const Opening& opening, CsvReader& reader)
      : options_(options),
        opening_(opening),
        reader_(reader),
        ways_(ways_of(options, opening)),
        is_number_(options.text("target") == "number") {}

  CsvTable read(CsvReader again) {
    Cells cells;
    bool more = read_header(cells);
    if (ways_.is_plain()) {
      table_.values.x_width = static_cast<int64_t>(table_.inputs.size());
      for (; more; more = reader_.next(cells)) add_plain(cells);
    } else {
      read_prepared(std::move(again), cells, more);
    }
    return std::move(table_);
  }

 private:
  bool read_header(Cells& cells) {
    if (!reader_.next(cells)) reader_.fail("rows", "an empty file", 1);
    table_.width = cells.size();
    bool more = true;
    if (is_header(options_, cells)) {
      table_.header = cells;
      more = reader_.next(cells);
    }
    choose_columns(options_, table_);
    if (!more) reader_.fail("rows", "a header alone", 1);
    return more;
  }

  void check_width(const CsvReader& reader, const Cells& cells) const {
    if (cells.size() == table_.width) return;
    reader.fail(fmt::format("{} cells", table_.width),
                fmt::format("{}", cells.size()), reader.line());
  }

  float number_at(const Cells& cells, size_t column, bool is_input) const {
    auto kept = static_cast<float>(number_in(cells[column]).value_or(INFINITY));
    if (!std::isfinite(kept)) {
      reader_.fail(fmt::format("a number in {}", table_.column_name(column)),
                   fmt::format("'{}'", io::shown(cells[column])),
                   reader_.line(), hint_for(cells[column], is_input));
    }
    return kept;
  }

  static std::string_view hint_for(const std::string& cell, bool is_input) {
    if (is_missing(cell)) {
      return is_input ? "'missing' says what to do about such cells"
                      : "'missing: drop' leaves such rows out";
    }
    bool is_word = is_input && !number_in(cell);
    return is_word ? "'categories' says what to do about columns of words" : "";
  }

  void add_plain(const Cells& cells) {
    check_width(reader_, cells);
    for (size_t column : table_.inputs) {
      table_.values.x.push_back(number_at(cells, column, true));
    }
    add_label(cells);
  }

  void add_label(const Cells& cells) {
    table_.lines.push_back(reader_.line());
    if (!table_.label) return;
    if (is_number_) {
      table_.y_numbers.push_back(number_at(cells, *table_.label, false));
    } else {
      table_.labels.push_back(cells[*table_.label]);
    }
  }

  void read_prepared(CsvReader again, Cells& cells, bool more) {
    TableCells all(column_kinds(std::move(again)));
    for (; more; more = reader_.next(cells)) {
      check_width(reader_, cells);
      if (ways_.missing == "drop" && has_gap(cells)) continue;
      for (size_t i = 0; i < table_.inputs.size(); ++i) {
        add_cell(all, i, cells[table_.inputs[i]]);
      }
      add_label(cells);
    }
    if (table_.lines.empty()) {
      reader_.fail("a row without missing cells", "none", 1,
                   "'missing: mean' fills them");
    }
    auto facts = std::make_shared<TableFacts>(ways_);
    if (!opening_.known) {
      auto rows = static_cast<int64_t>(table_.lines.size());
      learn_columns(all, training_part(opening_, options_, rows), reader_,
                    *facts);
    }
    table_.values = apply_facts(all, table_.lines, reader_, *facts);
    table_.facts = std::move(facts);
  }

  void add_cell(TableCells& all, size_t input, const std::string& cell) {
    if (ways_.missing == "error" && is_missing(cell)) {
      reader_.fail(
          fmt::format("a cell in {}", table_.column_name(table_.inputs[input])),
          fmt::format("'{}'", io::shown(cell)), reader_.line(),
          "'missing' says what to do about such cells");
    }
    all.add(input, cell, reader_);
  }

  // A label that reads "NA" may be one.
  bool has_gap(const Cells& cells) const {
    auto misses = [&](size_t column) { return is_missing(cells[column]); };
    if (std::ranges::any_of(table_.inputs, misses)) return true;
    if (!table_.label) return false;
    return is_number_ ? misses(*table_.label)
                      : trimmed_cell(cells[*table_.label]).empty();
  }

  // Which columns hold words: those that the options name, else those with a
  // cell that is neither a number nor missing; in an evaluation those that did
  // in training.
  std::vector<TableCells::Column> column_kinds(CsvReader again) {
    std::vector<TableCells::Column> columns;
    for (size_t column : table_.inputs) {
      columns.push_back(
          {.name = table_.header.empty() ? "" : table_.header[column],
           .label = table_.column_name(column)});
    }
    if (opening_.known) {
      take_known_kinds(columns);
    } else if (options_.has("category_columns")) {
      take_named_kinds(columns);
    } else if (ways_.categories != "none") {
      find_kinds(std::move(again), columns);
    }
    return columns;
  }

  void take_known_kinds(std::vector<TableCells::Column>& columns) const {
    if (columns.size() != ways_.columns.size()) {
      fail_usage(
          "[{}] expected {} columns as the training data have, got {} ({})",
          options_.who(), ways_.columns.size(), columns.size(),
          options_.path("file").string());
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      const ColumnFacts& known = ways_.columns[i];
      columns[i].is_category = known.is_category;
      bool is_other = !known.name.empty() && !columns[i].name.empty() &&
                      known.name != columns[i].name;
      if (!is_other) continue;
      fail_usage(
          "[{}] expected the column '{}' as in the training data, got '{}' "
          "({})\nHINT: 'columns' names them in another order",
          options_.who(), io::shown(known.name), io::shown(columns[i].name),
          options_.path("file").string());
    }
  }

  void take_named_kinds(std::vector<TableCells::Column>& columns) const {
    for (const std::string& name : options_.names("category_columns")) {
      size_t column = find_column(options_, table_, name);
      auto input = std::ranges::find(table_.inputs, column);
      if (input == table_.inputs.end()) {
        fail_usage(
            "[{}] expected a column of x in 'category_columns', got '{}'",
            options_.who(), name);
      }
      columns[static_cast<size_t>(input - table_.inputs.begin())].is_category =
          true;
    }
  }

  void find_kinds(CsvReader again,
                  std::vector<TableCells::Column>& columns) const {
    Cells cells;
    if (!table_.header.empty()) again.next(cells);
    while (again.next(cells)) {
      check_width(again, cells);
      for (size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].is_category) continue;
        const std::string& cell = cells[table_.inputs[i]];
        columns[i].is_category = !number_in(cell) && !is_missing(cell);
        if (columns[i].is_category) columns[i].first_line = again.line();
      }
    }
  }

  const Options& options_;
  const Opening& opening_;
  CsvReader& reader_;
  TableFacts ways_;
  bool is_number_;
  CsvTable table_;
};

}  // namespace

std::string CsvTable::column_name(size_t column) const {
  return header.empty() ? fmt::format("column {}", column)
                        : fmt::format("column '{}'", io::shown(header[column]));
}

char separator_of(const Options& options) {
  const std::string& name = options.text("separator");
  if (name == "semicolon") return ';';
  return name == "tab" ? '\t' : name == "space" ? ' ' : ',';
}

CsvTable read_csv_table(const Options& options, const Opening& opening,
                        CsvReader& reader, CsvReader again) {
  return TableReader(options, opening, reader).read(std::move(again));
}

std::vector<Option> csv_table_options() {
  return {
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
      choice_option("missing", {"error", "mean", "median", "zero", "drop"},
                    "cells that are empty or read NA, N/A, NaN, null, None or "
                    "?: an error, filled in, or their rows left out; among "
                    "categories those that are filled in are one of their own"),
      {"standardise", Kind::kFlag, "false",
       "numbers of x have the mean 0 and the deviation 1 in every column, once "
       "missing cells are filled"},
      choice_option("categories", {"none", "one_hot", "codes"},
                    "columns of words become as many numbers of x, one of them "
                    "1, or a number each of a further field `codes`, i64; "
                    "words are sorted"),
      {"category_columns", Kind::kNames, "",
       "which these are, by name or number; else those with a cell that is no "
       "number"},
      choice_option("unknown", {"error", "own"},
                    "categories that the training data do not have: an error, "
                    "or all 0, or the code after the last")};
}

}  // namespace braid::data
