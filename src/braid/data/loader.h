// Batches of a dataset, made ahead by background threads.
//
// The sequence of batches is a function of (dataset, options, position) and
// of nothing else: not of the number of threads, not of timing. A batch never
// spans two epochs; the last one of an epoch is shorter or dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "braid/data/dataset.h"

namespace braid::data {

// The next sample to be read, counted in the order of its epoch.
struct Position {
  int64_t epoch = 0;
  int64_t sample = 0;

  bool operator==(const Position&) const = default;
};

// Rows that lie in memory of whoever made it.
struct Batch {
  int64_t rows = 0;
  Position first;  // of its first sample
  Position next;   // of the first sample after it
  // Per field: the samples one after the other, row-major.
  std::vector<std::byte*> fields;

  const std::byte* field(size_t number) const { return fields[number]; }
};

struct LoaderOptions {
  int64_t batch_size = 64;
  bool drop_last = false;  // leave out a last batch that is not full
  bool shuffle = true;
  int64_t shuffle_block = 0;    // as Mixing in order.h
  int64_t shuffle_window = 16;  // blocks
  int64_t seed = 0;             // of the order and of random transforms
  bool repeat = true;           // epoch after epoch, or one alone
  int64_t prefetch = 2;         // batches made ahead
  int64_t threads = 1;          // that make them

  // Throws std::invalid_argument when a value is out of range.
  void validate() const;
  bool operator==(const LoaderOptions&) const = default;
};

class JointLoader;

// For one thread at a time. Loading begins with the first next() and goes on
// in the background, `prefetch` batches ahead of the one in use.
class Loader {
 public:
  Loader(DatasetPtr dataset, LoaderOptions options);
  ~Loader();  // waits for samples that are being read
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

  // Goes on from there, also within an epoch; batches made ahead are thrown
  // away. A place past the last batch of an epoch is the start of the next
  // one when repeating, and the end otherwise.
  void seek(Position position);

  // The next batch, owned by the loader and valid until the next call; null
  // at the end of the epoch when not repeating. Blocks until it is there. An
  // error of the dataset is thrown at the batch it belongs to, and again by
  // every call until seek().
  const Batch* next();

  int64_t batches_per_epoch() const;
  int64_t rows_of_last() const;  // in the last batch of an epoch

  const Dataset& dataset() const { return *dataset_; }
  const LoaderOptions& options() const { return options_; }

 private:
  DatasetPtr dataset_;
  LoaderOptions options_;
  Position start_;                    // of what the next call begins
  std::unique_ptr<JointLoader> run_;  // threads and batches since the last seek
};

}  // namespace braid::data
