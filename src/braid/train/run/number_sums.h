// NumberSums: differences of predicted and true numbers over an evaluation, by
// column. A row has D of them; sums are those of one pass in double precision
// that does not lose small variances beside large means.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace braid::train {

class NumberSums {
 public:
  explicit NumberSums(int64_t num_columns)
      : columns_(static_cast<size_t>(num_columns)) {}

  // A row: predicted[D], target[D].
  void add(std::span<const double> predicted, std::span<const double> target);

  int64_t num_columns() const { return static_cast<int64_t>(columns_.size()); }
  // "mae", "mse", "rmse", "r2", each the mean over columns; NaN without rows.
  // As scikit-learn has it, r2 of one row is NaN, and of a target that never
  // changes 1 where all are right, else 0.
  double value(const std::string& metric) const;

 private:
  struct Column {
    double absolute = 0, squared = 0;  // differences
    double mean = 0, spread = 0;       // of targets; squares around the mean

    double r2() const;
  };

  std::vector<Column> columns_;
  double rows_ = 0;
};

}  // namespace braid::train
