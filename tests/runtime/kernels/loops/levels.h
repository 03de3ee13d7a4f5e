// What tests of loops share: numbers, and that all levels agree on them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "braid/runtime/kernels/loops/loops.h"

namespace braid::runtime {

using FloatTypes = testing::Types<float, double>;

template <class T>
using Numbers = std::vector<T>;

template <class T>
Numbers<T> random_numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Numbers<T> x(static_cast<size_t>(count));
  for (T& v : x) v = static_cast<T>(normal(random));
  return x;
}

template <class T>
bool same_bits(const Numbers<T>& a, const Numbers<T>& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// What a level makes of the same inputs must be what plain code makes.
template <class T>
void expect_same(const std::function<Numbers<T>(const LoopsOf<T>&)>& run) {
  std::vector<Loops> levels = all_loops();
  Numbers<T> plain = run(levels[0].of<T>());
  for (const Loops& level : levels) {
    EXPECT_TRUE(same_bits(run(level.of<T>()), plain)) << level.level;
  }
}

}  // namespace braid::runtime
