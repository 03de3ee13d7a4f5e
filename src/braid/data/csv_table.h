// A table as text, taken apart: the columns of x, the label of every row.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "braid/base/csv_reader.h"
#include "braid/data/opening.h"
#include "braid/data/table_cells.h"

namespace braid::data {

struct CsvTable {
  std::vector<std::string> header;  // empty: columns have numbers only
  size_t width = 0;
  std::vector<size_t> inputs;   // columns of x
  std::optional<size_t> label;  // column of y
  std::vector<int64_t> lines;   // where each row began
  TableValues values;
  std::vector<std::string> labels;  // of classes
  std::vector<float> y_numbers;
  std::shared_ptr<const TableFacts> facts;  // null: all cells are numbers

  std::string column_name(size_t column) const;
};

// Options about columns and cells: separator, header, label, columns, target,
// missing, standardise, categories, category_columns, unknown.
std::vector<Option> csv_table_options();

// Reads all of the text. Throws std::runtime_error with file and line for what
// is wrong with it, std::invalid_argument for options that do not go together
// or with the training data.
CsvTable read_csv_table(const Options& options, const Opening& opening,
                        CsvReader& reader, CsvReader again);

char separator_of(const Options& options);

}  // namespace braid::data
