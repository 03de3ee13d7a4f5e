// Counter-based random numbers (Philox 4x32, 10 rounds): every number is a
// pure function of a key and a counter, so it does not depend on who asks,
// in which order, on how many threads, or how often.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

// The CUDA compiler needs these marks to call the same code on a GPU.
#ifdef __CUDACC__
#define BRAID_HOST_DEVICE __host__ __device__
#else
#define BRAID_HOST_DEVICE
#endif

namespace braid {

struct RandomBlock {
  uint32_t word[4];
};

BRAID_HOST_DEVICE inline RandomBlock philox(uint64_t key, uint64_t counter_low,
                                            uint64_t counter_high) {
  auto k0 = static_cast<uint32_t>(key);
  auto k1 = static_cast<uint32_t>(key >> 32);
  RandomBlock c{{static_cast<uint32_t>(counter_low),
                 static_cast<uint32_t>(counter_low >> 32),
                 static_cast<uint32_t>(counter_high),
                 static_cast<uint32_t>(counter_high >> 32)}};
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53} * c.word[0];
    uint64_t p1 = uint64_t{0xCD9E8D57} * c.word[2];
    c = RandomBlock{{static_cast<uint32_t>(p1 >> 32) ^ c.word[1] ^ k0,
                     static_cast<uint32_t>(p1),
                     static_cast<uint32_t>(p0 >> 32) ^ c.word[3] ^ k1,
                     static_cast<uint32_t>(p0)}};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

// The blocks of several counters that follow each other, each word of all of
// them side by side: the same numbers by vector code.
struct RandomBlocks {
  static constexpr size_t kCount = 32;
  uint32_t word[4][kCount];
};

inline RandomBlocks philox_blocks(uint64_t key, uint64_t first,
                                  uint64_t counter_high) {
  auto k0 = static_cast<uint32_t>(key);
  auto k1 = static_cast<uint32_t>(key >> 32);
  RandomBlocks c;
  for (size_t i = 0; i < RandomBlocks::kCount; ++i) {
    c.word[0][i] = static_cast<uint32_t>(first + i);
    c.word[1][i] = static_cast<uint32_t>((first + i) >> 32);
    c.word[2][i] = static_cast<uint32_t>(counter_high);
    c.word[3][i] = static_cast<uint32_t>(counter_high >> 32);
  }
  for (int round = 0; round < 10; ++round) {
    for (size_t i = 0; i < RandomBlocks::kCount; ++i) {
      uint64_t p0 = uint64_t{0xD2511F53} * c.word[0][i];
      uint64_t p1 = uint64_t{0xCD9E8D57} * c.word[2][i];
      c.word[0][i] = static_cast<uint32_t>(p1 >> 32) ^ c.word[1][i] ^ k0;
      c.word[1][i] = static_cast<uint32_t>(p1);
      c.word[2][i] = static_cast<uint32_t>(p0 >> 32) ^ c.word[3][i] ^ k1;
      c.word[3][i] = static_cast<uint32_t>(p0);
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

// Mixes two 64-bit numbers into one (splitmix64 finaliser).
BRAID_HOST_DEVICE inline uint64_t mix_bits(uint64_t a, uint64_t b) {
  uint64_t z = a + 0x9E3779B97F4A7C15ull * (b + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// Uniform in [0, 1) with 32 random bits.
BRAID_HOST_DEVICE inline double unit_interval(uint32_t word) {
  return word * (1.0 / 4294967296.0);
}

// What a random op draws for one element: the key names the draw (member
// seed, rng_key of the node), the high counter the moment (member step and
// micro-batch), the low counter the element.
struct DrawKey {
  uint64_t key;
  uint64_t moment;
};

BRAID_HOST_DEVICE inline DrawKey draw_key(uint64_t seed, uint64_t rng_key,
                                          uint64_t step, uint64_t micro) {
  return {mix_bits(seed, rng_key), (step << 16) | (micro & 0xFFFF)};
}

// The uniform number in [0, 1) of one element. Four elements share a block.
BRAID_HOST_DEVICE inline double draw_uniform(DrawKey key, uint64_t element) {
  RandomBlock block = philox(key.key, element >> 2, key.moment);
  return unit_interval(block.word[element & 3]);
}

// FNV-1a; stable across platforms and versions, so it may enter files.
inline uint64_t stable_hash(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325ull;
  for (char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  }
  return hash;
}

// Random doubles for initialisation: 53-bit uniforms and Box-Muller normals,
// addressed by element.
class ElementRandom {
 public:
  ElementRandom(uint64_t seed, std::string_view name)
      : key_(mix_bits(seed, stable_hash(name))) {}

  // Uniform in [0, 1).
  double uniform(uint64_t element) const {
    RandomBlock b = philox(key_, element, kInitMoment);
    return unit53(b.word[0], b.word[1]);
  }

  // Standard normal.
  double normal(uint64_t element) const {
    RandomBlock b = philox(key_, element, kInitMoment);
    return normal_of(unit53(b.word[0], b.word[1]),
                     unit53(b.word[2], b.word[3]));
  }

  // The same for elements that follow each other, faster.
  void uniforms(std::span<double> to, uint64_t first) const {
    fill(to, first, [](const RandomBlocks& b, size_t i) {
      return unit53(b.word[0][i], b.word[1][i]);
    });
  }

  void normals(std::span<double> to, uint64_t first) const {
    fill(to, first, [](const RandomBlocks& b, size_t i) {
      return normal_of(unit53(b.word[0][i], b.word[1][i]),
                       unit53(b.word[2][i], b.word[3][i]));
    });
  }

 private:
  static constexpr uint64_t kInitMoment = ~uint64_t{0};
  static double unit53(uint32_t high, uint32_t low) {
    uint64_t bits = (static_cast<uint64_t>(high) << 21) | (low >> 11);
    return static_cast<double>(bits) * 0x1.0p-53;
  }
  // From two uniform numbers in [0, 1).
  static double normal_of(double u, double v) {
    return std::sqrt(-2.0 * std::log(1.0 - u)) *
           std::cos(6.283185307179586 * v);
  }
  template <class F>
  void fill(std::span<double> to, uint64_t first, const F& number) const {
    for (size_t at = 0; at < to.size(); at += RandomBlocks::kCount) {
      RandomBlocks blocks = philox_blocks(key_, first + at, kInitMoment);
      size_t count = std::min(RandomBlocks::kCount, to.size() - at);
      for (size_t i = 0; i < count; ++i) to[at + i] = number(blocks, i);
    }
  }
  uint64_t key_;
};

}  // namespace braid
