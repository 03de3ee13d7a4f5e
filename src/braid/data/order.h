// The order in which an epoch visits the samples.
#pragma once

#include <cstdint>
#include <vector>

namespace braid::data {

// How an epoch is mixed.
struct Mixing {
  bool shuffle = true;  // without, every epoch goes from first to last
  // 0: all samples with each other. Else files are read in long runs: blocks of
  // so many neighbours are drawn in a random order, `window` of them at a time,
  // and samples are mixed within a window.
  int64_t block = 0;
  int64_t window = 16;
};

// Samples first to first + count - 1.
struct SampleRange {
  int64_t first = 0;
  int64_t count = 0;

  bool operator==(const SampleRange&) const = default;
};

// A permutation for every epoch: a function of (size, seed, epoch, mixing)
// alone. The present epoch's is kept (8 bytes per sample; with blocks, per
// block and per sample of a window), so asking within one epoch is fast. For
// one thread at a time.
class Order {
 public:
  Order(int64_t size, int64_t seed, const Mixing& mixing);

  // Which sample comes at place i of [0, size).
  int64_t index(int64_t epoch, int64_t i);

  // The blocks of the windows that index() came to since the last call.
  std::vector<SampleRange> take_new_blocks();

 private:
  bool has_blocks() const { return mixing_.shuffle && mixing_.block > 0; }
  void shuffle(int64_t epoch);
  int64_t window_start(int64_t window) const;
  void enter_window(int64_t epoch, int64_t i);

  int64_t size_;
  int64_t seed_;
  Mixing mixing_;
  int64_t num_blocks_ = 0;
  int64_t epoch_ = -1;           // of places_ or blocks_
  std::vector<int64_t> places_;  // samples of the epoch, or of the window
  std::vector<int64_t> blocks_;  // in the order of the epoch
  int64_t short_block_ = 0;      // where the last block of the samples comes
  int64_t first_ = 0;            // place of places_[0]
  std::vector<SampleRange> new_blocks_;
};

}  // namespace braid::data
