// Random numbers of one sample, one after the other.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "braid/base/rng.h"

namespace braid::data {

// A stream that (seed, what, number, moment) determine. Streams of different
// numbers share no draw, so samples of disjoint ranges are disjoint draws.
class SampleRandom {
 public:
  SampleRandom(int64_t seed, std::string_view what, int64_t number,
               int64_t moment = 0)
      : key_(mix_bits(mix_bits(static_cast<uint64_t>(seed), stable_hash(what)),
                      static_cast<uint64_t>(moment))),
        number_(static_cast<uint64_t>(number)) {}

  uint64_t bits() {
    if (used_ == 2) {
      block_ = philox(key_, count_++, number_);
      used_ = 0;
    }
    uint64_t high = block_.word[2 * used_], low = block_.word[2 * used_ + 1];
    ++used_;
    return (high << 32) | low;
  }

  // Uniform in [0, 1).
  double unit() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  double between(double low, double high) {
    return low + (high - low) * unit();
  }

  // Uniform in [0, count): the high half of a product, without division.
  int64_t below(int64_t count) {
    __extension__ using Wide = unsigned __int128;
    Wide product = Wide{bits()} * static_cast<uint64_t>(count);
    return static_cast<int64_t>(static_cast<uint64_t>(product >> 64));
  }

  double normal() {
    double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
    return radius * std::cos(6.283185307179586 * unit());
  }

 private:
  uint64_t key_;
  uint64_t number_;
  uint64_t count_ = 0;
  RandomBlock block_ = {};
  unsigned used_ = 2;  // pairs of words of the block
};

}  // namespace braid::data
