// Counter-based random numbers (Philox 4x32, 10 rounds): every number is a
// pure function of a key and a counter, so it does not depend on who asks,
// in which order, on how many threads, or how often.
#pragma once

#include <cmath>
#include <cstdint>
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
    double u = 1.0 - unit53(b.word[0], b.word[1]);  // in (0, 1]
    double v = unit53(b.word[2], b.word[3]);
    return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
  }

 private:
  static constexpr uint64_t kInitMoment = ~uint64_t{0};
  static double unit53(uint32_t high, uint32_t low) {
    uint64_t bits = (static_cast<uint64_t>(high) << 21) | (low >> 11);
    return static_cast<double>(bits) * 0x1.0p-53;
  }
  uint64_t key_;
};

}  // namespace braid
