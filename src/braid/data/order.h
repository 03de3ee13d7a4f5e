// The order in which an epoch visits the samples.
#pragma once

#include <cstdint>
#include <vector>

namespace braid::data {

// A permutation for every epoch: a function of (size, seed, epoch) alone. The
// present epoch's is kept (8 bytes per sample), so asking within one epoch is
// fast. For one thread at a time.
class Order {
 public:
  // Without `shuffle`, every epoch goes from first to last.
  Order(int64_t size, int64_t seed, bool shuffle)
      : size_(size), seed_(seed), shuffle_(shuffle) {}

  // Which sample comes at place i of [0, size).
  int64_t index(int64_t epoch, int64_t i);

 private:
  void make_room();
  void shuffle(int64_t epoch);

  int64_t size_;
  int64_t seed_;
  bool shuffle_;
  int64_t epoch_ = -1;  // of places_
  std::vector<int64_t> places_;
};

}  // namespace braid::data
