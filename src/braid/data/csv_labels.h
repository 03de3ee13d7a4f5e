// Labels of a table as classes: whole numbers stay, words are numbered.
#pragma once

#include <string>
#include <vector>

#include "braid/data/csv_table.h"

namespace braid::data {

struct CsvClasses {
  int64_t count = 0;
  std::vector<int64_t> numbers;    // of the rows
  std::vector<std::string> names;  // empty: labels are their own numbers
};

// By `names` of the options, else as the training data have them, else in the
// order of the words. Throws std::runtime_error, with the line, for labels that
// are not among them.
CsvClasses number_labels(const Options& options, const Opening& opening,
                         const CsvReader& reader, const CsvTable& table);

}  // namespace braid::data
