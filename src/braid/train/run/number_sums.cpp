#include "braid/train/run/number_sums.h"

#include <cmath>

namespace braid::train {

void NumberSums::add(std::span<const double> predicted,
                     std::span<const double> target) {
  ++rows_;
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    double difference = predicted[i] - target[i];
    column.absolute += std::abs(difference);
    column.squared += difference * difference;
    double from_mean = target[i] - column.mean;
    column.mean += from_mean / rows_;
    column.spread += from_mean * (target[i] - column.mean);
  }
}

double NumberSums::Column::r2() const {
  if (spread == 0) return squared == 0 ? 1 : 0;
  return 1 - squared / spread;
}

double NumberSums::value(const std::string& metric) const {
  if (rows_ == 0) return NAN;
  if (metric == "r2" && rows_ < 2) return NAN;
  double sum = 0;
  for (const Column& column : columns_) {
    if (metric == "mae") sum += column.absolute / rows_;
    if (metric == "mse") sum += column.squared / rows_;
    if (metric == "rmse") sum += std::sqrt(column.squared / rows_);
    if (metric == "r2") sum += column.r2();
  }
  return sum / static_cast<double>(columns_.size());
}

}  // namespace braid::train
