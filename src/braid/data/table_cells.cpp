#include "braid/data/table_cells.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "braid/base/error.h"
#include "braid/io/problems.h"

namespace braid::data {
namespace {

using Column = TableCells::Column;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

template <class Number>
std::optional<Number> read_all(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  bool is_all = !text.empty() && error == std::errc() && rest == end;
  return is_all ? std::optional(number) : std::nullopt;
}

// A word, and the number that stands for it. A missing cell is the word "".
double word_number(Column& column, std::string_view word) {
  auto found = column.numbers.find(word);
  if (found == column.numbers.end()) {
    found = column.numbers.emplace(word, column.words.size()).first;
    column.words.emplace_back(word);
  }
  return static_cast<double>(found->second);
}

double value_at(const Column& column, int64_t row) {
  return column.values[static_cast<size_t>(row)];
}

// As numpy.median has it: of two in the middle their mean.
double median_of(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  double upper = *middle;
  if (values.size() % 2 == 1) return upper;
  double lower = *std::max_element(values.begin(), middle);
  return lower + (upper - lower) / 2;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::vector<double> present_values(const Column& column, const Part& rows) {
  std::vector<double> values;
  for (int64_t i = 0; i < rows.count; ++i) {
    double value = value_at(column, rows[i]);
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

double fill_of(const std::vector<double>& present, const std::string& way) {
  if (way == "mean") return mean_of(present);
  return way == "median" ? median_of(present) : 0;
}

// Of all numbers, those that were filled in too.
void learn_scale(std::vector<double> values, int64_t filled,
                 ColumnFacts& facts) {
  values.insert(values.end(), static_cast<size_t>(filled), facts.fill);
  auto [least, most] = std::ranges::minmax(values);
  facts.mean = least == most ? least : mean_of(values);
  if (least == most) return;  // nothing to divide by
  for (double& value : values) {
    value = (value - facts.mean) * (value - facts.mean);
  }
  facts.deviation = std::sqrt(mean_of(values));
}

void learn_numbers(const Column& column, const Part& rows,
                   const CsvReader& reader, const TableFacts& ways,
                   ColumnFacts& facts) {
  std::vector<double> present = present_values(column, rows);
  if (present.empty()) {
    reader.fail(fmt::format("a number in {}", column.label),
                "only missing cells in the training data", 1,
                "leave the column out with 'columns'");
  }
  facts.fill = fill_of(present, ways.missing);
  int64_t filled = rows.count - static_cast<int64_t>(present.size());
  if (ways.standardise) learn_scale(std::move(present), filled, facts);
}

// One misspelt number makes a column of words of all of them, each another.
void refuse_many(const Column& column, const CsvReader& reader,
                 const TableFacts& ways, const ColumnFacts& facts) {
  constexpr size_t kMostHot = 1000;
  if (ways.categories != "one_hot" || facts.categories.size() <= kMostHot) {
    return;
  }
  bool has_line = column.first_line > 0;
  reader.fail(
      fmt::format("at most {} categories in {}", kMostHot, column.label),
      fmt::format("{}", facts.categories.size()),
      has_line ? column.first_line : 1,
      has_line ? "in this line is the first cell that is no number; "
                 "'category_columns' names columns of words, and 'categories: "
                 "codes' takes more of them"
               : "'categories: codes' takes more");
}

void learn_words(const Column& column, const Part& rows, ColumnFacts& facts) {
  std::set<std::string> seen;
  for (int64_t i = 0; i < rows.count; ++i) {
    seen.insert(column.words[static_cast<size_t>(value_at(column, rows[i]))]);
  }
  facts.categories.assign(seen.begin(), seen.end());
}

// The code of every word of a column; -1: unknown in training.
std::vector<int64_t> codes_of(const Column& column, const ColumnFacts& facts) {
  std::vector<int64_t> codes;
  for (const std::string& word : column.words) {
    auto found = std::ranges::lower_bound(facts.categories, word);
    bool is_known = found != facts.categories.end() && *found == word;
    codes.push_back(is_known ? found - facts.categories.begin() : -1);
  }
  return codes;
}

// Rows that grow from left to right.
class Values {
 public:
  Values(const std::vector<int64_t>& lines, const CsvReader& reader,
         const TableFacts& facts)
      : lines_(lines), reader_(reader), facts_(facts) {
    for (const ColumnFacts& column : facts.columns) {
      auto count = static_cast<int64_t>(column.categories.size());
      if (!column.is_category) {
        ++values_.x_width;
      } else if (facts.categories == "one_hot") {
        values_.x_width += count;
      } else {
        ++values_.codes_width;
        if (facts.unknown == "own") ++count;
        values_.num_codes = std::max(values_.num_codes, count);
      }
    }
    auto rows = static_cast<int64_t>(lines.size());
    values_.x.resize(static_cast<size_t>(rows * values_.x_width));
    values_.codes.resize(static_cast<size_t>(rows * values_.codes_width));
  }

  TableValues take() { return std::move(values_); }

  void add(const Column& column, const ColumnFacts& facts) {
    if (!column.is_category) {
      add_numbers(column, facts);
    } else if (facts_.categories == "one_hot") {
      add_one_hot(column, facts);
    } else {
      add_codes(column, facts);
    }
  }

 private:
  float& x_at(size_t row, size_t place) {
    return values_.x[row * static_cast<size_t>(values_.x_width) + place];
  }

  void add_numbers(const Column& column, const ColumnFacts& facts) {
    for (size_t row = 0; row < lines_.size(); ++row) {
      double value = column.values[row];
      if (std::isnan(value)) value = facts.fill;
      if (facts_.standardise) value = (value - facts.mean) / facts.deviation;
      auto kept = static_cast<float>(value);
      if (!std::isfinite(kept)) {
        reader_.fail(fmt::format("{} to be a number of 32 bits", column.label),
                     fmt::format("{} once standardised", value), lines_[row]);
      }
      x_at(row, x_place_) = kept;
    }
    ++x_place_;
  }

  void add_one_hot(const Column& column, const ColumnFacts& facts) {
    std::vector<int64_t> codes = codes_of(column, facts);
    for (size_t row = 0; row < lines_.size(); ++row) {
      int64_t code = known_code(column, codes, row);
      if (code >= 0) x_at(row, x_place_ + static_cast<size_t>(code)) = 1;
    }
    x_place_ += facts.categories.size();
  }

  void add_codes(const Column& column, const ColumnFacts& facts) {
    std::vector<int64_t> codes = codes_of(column, facts);
    auto width = static_cast<size_t>(values_.codes_width);
    for (size_t row = 0; row < lines_.size(); ++row) {
      int64_t code = known_code(column, codes, row);
      values_.codes[row * width + codes_place_] =
          code >= 0 ? code : static_cast<int64_t>(facts.categories.size());
    }
    ++codes_place_;
  }

  int64_t known_code(const Column& column, const std::vector<int64_t>& codes,
                     size_t row) const {
    auto word = static_cast<size_t>(column.values[row]);
    if (codes[word] < 0 && facts_.unknown == "error") {
      reader_.fail(fmt::format("a category of {} that the training data have",
                               column.label),
                   fmt::format("'{}'", io::shown(column.words[word])),
                   lines_[row],
                   "'unknown: own' in the training data lets others through");
    }
    return codes[word];
  }

  const std::vector<int64_t>& lines_;
  const CsvReader& reader_;
  const TableFacts& facts_;
  TableValues values_;
  size_t x_place_ = 0, codes_place_ = 0;
};

}  // namespace

std::string_view trimmed_cell(std::string_view cell) {
  size_t begin = cell.find_first_not_of(" \t");
  if (begin == cell.npos) return {};
  return cell.substr(begin, cell.find_last_not_of(" \t") - begin + 1);
}

std::optional<double> number_in(std::string_view cell) {
  return read_all<double>(trimmed_cell(cell));
}

std::optional<int64_t> whole_in(std::string_view cell) {
  return read_all<int64_t>(trimmed_cell(cell));
}

bool is_missing(std::string_view cell) {
  constexpr std::array<std::string_view, 7> kMarks = {
      "", "na", "n/a", "nan", "null", "none", "?"};
  cell = trimmed_cell(cell);
  if (cell.size() > 4) return false;
  std::string lower;
  for (char c : cell) {
    lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return std::ranges::find(kMarks, lower) != kMarks.end();
}

void TableCells::add(size_t number, std::string_view cell,
                     const CsvReader& reader) {
  Column& column = columns_[number];
  bool misses = is_missing(cell);
  if (column.is_category) {
    column.values.push_back(
        word_number(column, misses ? "" : trimmed_cell(cell)));
    return;
  }
  double value = misses ? kMissing : number_in(cell).value_or(INFINITY);
  if (!misses && !std::isfinite(static_cast<float>(value))) {
    reader.fail(fmt::format("a number in {}", column.label),
                fmt::format("'{}'", io::shown(cell)), reader.line(),
                "'categories: one_hot' or 'codes' in the training data takes "
                "columns of words");
  }
  column.values.push_back(value);
}

void learn_columns(const TableCells& cells, const Part& rows,
                   const CsvReader& reader, TableFacts& facts) {
  for (const Column& column : cells.columns()) {
    ColumnFacts& learned = facts.columns.emplace_back();
    learned.name = column.name;
    learned.is_category = column.is_category;
    if (column.is_category) {
      learn_words(column, rows, learned);
      refuse_many(column, reader, facts, learned);
    } else {
      learn_numbers(column, rows, reader, facts, learned);
    }
  }
}

TableValues apply_facts(const TableCells& cells,
                        const std::vector<int64_t>& lines,
                        const CsvReader& reader, const TableFacts& facts) {
  Values values(lines, reader, facts);
  for (size_t i = 0; i < facts.columns.size(); ++i) {
    values.add(cells.columns()[i], facts.columns[i]);
  }
  return values.take();
}

}  // namespace braid::data
