// Cells of a table that are not all plain numbers: missing ones are filled,
// numbers brought to one scale, words numbered.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "braid/base/csv_reader.h"
#include "braid/data/split.h"
#include "braid/data/table_facts.h"

namespace braid::data {

// The number in a cell, which may have spaces around it; nothing for any other
// text.
std::optional<double> number_in(std::string_view cell);
std::optional<int64_t> whole_in(std::string_view cell);

// Empty, or what people and programs write for "not known": NA, NaN, null, ?
bool is_missing(std::string_view cell);

// The cell without spaces around it.
std::string_view trimmed_cell(std::string_view cell);

// The cells of the columns that are taken, column by column. Of words, values
// are numbers of `words`.
class TableCells {
 public:
  struct Column {
    std::string name = {};   // in the header
    std::string label = {};  // for errors: "column 'area'"
    bool is_category = false;
    int64_t first_line = 0;  // of a cell that is no number; 0: not looked for
    std::vector<double> values = {};  // NaN: missing
    std::vector<std::string> words = {};
    std::map<std::string, size_t, std::less<>> numbers = {};  // of words
  };

  explicit TableCells(std::vector<Column> columns)
      : columns_(std::move(columns)) {}

  // Adds a cell to a column. `reader` tells where it is in errors.
  void add(size_t column, std::string_view cell, const CsvReader& reader);

  const std::vector<Column>& columns() const { return columns_; }

 private:
  std::vector<Column> columns_;
};

// Learns from these rows. `facts` says the ways; its columns are filled in.
// Throws std::runtime_error when a column has nothing to learn from.
void learn_columns(const TableCells& cells, const Part& rows,
                   const CsvReader& reader, TableFacts& facts);

// What samples give, row by row.
struct TableValues {
  int64_t x_width = 0, codes_width = 0;
  int64_t num_codes = 0;  // codes are below
  std::vector<float> x;
  std::vector<int64_t> codes;
};

// All rows by what was learned; `lines` is where each began. An unknown
// category is an error, or has the way that `facts` names.
TableValues apply_facts(const TableCells& cells,
                        const std::vector<int64_t>& lines,
                        const CsvReader& reader, const TableFacts& facts);

}  // namespace braid::data
