// Which samples the next batch has: the part of the loader without threads.
#pragma once

#include <cstdint>
#include <vector>

#include "braid/data/loader.h"
#include "braid/data/order.h"

namespace braid::data {

// Batches of one epoch.
int64_t num_batches(int64_t size, const LoaderOptions& options);

// The batches from a position on. For one thread at a time.
class BatchPlan {
 public:
  BatchPlan(int64_t size, const LoaderOptions& options, Position start);

  // Sets rows and positions of `batch` and the samples it is to hold; false
  // when there is no further batch.
  bool next(Batch& batch, std::vector<int64_t>& indices);

  // As Order::take_new_blocks().
  std::vector<SampleRange> take_new_blocks() {
    return order_.take_new_blocks();
  }

 private:
  // Rows of the batch at `at`; 0 when its epoch is over.
  int64_t rows_at(Position at) const;

  int64_t size_;
  LoaderOptions options_;
  Position at_;
  Order order_;
};

}  // namespace braid::data
