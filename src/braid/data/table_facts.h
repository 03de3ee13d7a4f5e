// TableFacts: what a table of training data taught about its columns, so that
// other data are read alike.
#pragma once

#include <string>
#include <vector>

namespace braid::data {

// One column of the table. Numbers become (number - mean) / deviation.
struct ColumnFacts {
  std::string name = {};  // in the header; empty without one
  bool is_category = false;
  double fill = 0;  // for missing cells, where they are filled
  double mean = 0, deviation = 1;
  std::vector<std::string> categories = {};  // by their number

  bool operator==(const ColumnFacts&) const = default;
};

// The ways are as the options of `csv` name them.
struct TableFacts {
  std::string missing = "error";
  bool standardise = false;
  std::string categories = "none";
  std::string unknown = "error";
  std::vector<ColumnFacts> columns = {};  // in the order they are taken

  // Whether cells are more than numbers that are there.
  bool is_plain() const {
    return missing == "error" && !standardise && categories == "none";
  }
  bool operator==(const TableFacts&) const = default;
};

}  // namespace braid::data
