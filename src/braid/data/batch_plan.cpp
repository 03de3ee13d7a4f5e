#include "braid/data/batch_plan.h"

#include <algorithm>

namespace braid::data {

int64_t num_batches(int64_t size, const LoaderOptions& options) {
  int64_t full = size / options.batch_size;
  bool has_short = size % options.batch_size != 0 && !options.drop_last;
  return full + (has_short ? 1 : 0);
}

BatchPlan::BatchPlan(int64_t size, const LoaderOptions& options, Position start)
    : size_(size),
      options_(options),
      at_(start),
      order_(size, options.seed,
             {.shuffle = options.shuffle,
              .block = options.shuffle_block,
              .window = options.shuffle_window}) {}

int64_t BatchPlan::rows_at(Position at) const {
  int64_t rows = std::min(options_.batch_size, size_ - at.sample);
  return options_.drop_last && rows < options_.batch_size ? 0 : rows;
}

bool BatchPlan::next(Batch& batch, std::vector<int64_t>& indices) {
  if (rows_at(at_) == 0) {
    // Without repeating, a position at the end stays there.
    if (!options_.repeat) return false;
    at_ = {at_.epoch + 1, 0};
  }
  batch.first = at_;
  batch.rows = rows_at(at_);
  indices.clear();
  for (int64_t row = 0; row < batch.rows; ++row) {
    indices.push_back(order_.index(at_.epoch, at_.sample + row));
  }
  at_.sample += batch.rows;
  batch.next = rows_at(at_) > 0 ? at_ : Position{at_.epoch + 1, 0};
  return true;
}

}  // namespace braid::data
