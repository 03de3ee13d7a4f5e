// Philox as in base/rng.h, for many counters side by side: each lane of four
// vectors holds the words of one counter.
#include <utility>

#include "braid/runtime/kernels/loops/level/vector.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace braid::runtime::BRAID_LEVEL {
namespace {

constexpr int kLanes = kVectorBytes / 4;
using Words = Vector<uint32_t, kLanes>;
using Pairs = Vector<uint64_t, kLanes / 2>;

// Chains that run side by side hide how long one multiplication takes.
constexpr int kChains = kVectorBytes == 64 ? 4 : 2;

// Products of the lower halves.
BRAID_INLINE Pairs multiply(Pairs a, Pairs b) {
#if defined(__AVX512F__)
  // With a mask: g++ 12 warns of its own undefined value otherwise.
  return (Pairs)_mm512_maskz_mul_epu32(0xFF, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (Pairs)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (Pairs)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
  return (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF);
#endif
}

// Upper and lower words of every lane times one number.
struct Product {
  Words high, low;
};

BRAID_INLINE Product product(Words lanes, uint32_t by) {
  constexpr uint64_t kUpper = 0xFFFFFFFF00000000, kLower = 0xFFFFFFFF;
  Pairs all = (Pairs)lanes, factor = Pairs{} + by;
  Pairs even = multiply(all, factor), odd = multiply(all >> 32, factor);
  return {(Words)((even >> 32) | (odd & kUpper)),
          (Words)((even & kLower) | (odd << 32))};
}

struct Counters {
  Words at[4];
};

// Lane p holds counter first + order(p): so that four vectors become rows of
// memory by moves within 16 bytes alone.
constexpr uint32_t order(size_t p) {
  return static_cast<uint32_t>(p % 4 * (kLanes / 4) + p / 4);
}

template <size_t... kLane>
BRAID_INLINE Words orders(std::index_sequence<kLane...>) {
  return Words{order(kLane)...};
}

BRAID_INLINE void start(Counters& c, uint64_t first, uint64_t moment) {
  Words base = Words{} + static_cast<uint32_t>(first);
  c.at[0] = base + orders(std::make_index_sequence<kLanes>());
  // A lane that went past the end is all ones where it is compared.
  c.at[1] = static_cast<uint32_t>(first >> 32) - (Words)(c.at[0] < base);
  c.at[2] = Words{} + static_cast<uint32_t>(moment);
  c.at[3] = Words{} + static_cast<uint32_t>(moment >> 32);
}

BRAID_INLINE void mix(Counters& c, uint32_t key0, uint32_t key1) {
  Product p0 = product(c.at[0], 0xD2511F53), p1 = product(c.at[2], 0xCD9E8D57);
  c.at[0] = p1.high ^ c.at[1] ^ key0;
  c.at[1] = p1.low;
  c.at[2] = p0.high ^ c.at[3] ^ key1;
  c.at[3] = p0.low;
}

// Lanes of a and b in turns within each 16 bytes: kSize words at a time, from
// the lower or the upper 8 bytes.
template <int kSize, int kUpper>
constexpr int turn(int l) {
  int in = l % 4, from_b = in / kSize % 2;
  int word = kSize == 1 ? in / 2 : in % 2;
  return from_b * kLanes + l / 4 * 4 + kUpper * 2 + word;
}

template <int kSize, int kUpper, size_t... kLane>
BRAID_INLINE Words turns(Words a, Words b, std::index_sequence<kLane...>) {
  return __builtin_shufflevector(a, b, turn<kSize, kUpper>(kLane)...);
}

template <int kSize, int kUpper>
BRAID_INLINE Words turns(Words a, Words b) {
  return turns<kSize, kUpper>(a, b, std::make_index_sequence<kLanes>());
}

// The four words of each counter, counters in order.
BRAID_INLINE void store(uint32_t* words, const Counters& c) {
  Words a = turns<1, 0>(c.at[0], c.at[1]), b = turns<1, 0>(c.at[2], c.at[3]);
  Words d = turns<1, 1>(c.at[0], c.at[1]), e = turns<1, 1>(c.at[2], c.at[3]);
  Words rows[4] = {turns<2, 0>(a, b), turns<2, 1>(a, b), turns<2, 0>(d, e),
                   turns<2, 1>(d, e)};
  std::memcpy(words, rows, sizeof rows);
}

constexpr int64_t kBlocks = kChains * kLanes;

// kBlocks counters from `first`. Written out for each chain, so that all of
// them stay in registers.
template <size_t... kChain>
BRAID_INLINE void draw(uint32_t* words, uint64_t key, uint64_t moment,
                       uint64_t first, std::index_sequence<kChain...>) {
  auto key0 = static_cast<uint32_t>(key);
  auto key1 = static_cast<uint32_t>(key >> 32);
  Counters chains[kChains];
  (start(chains[kChain], first + kChain * kLanes, moment), ...);
  for (int round = 0; round < 10; ++round) {
    (mix(chains[kChain], key0, key1), ...);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  (store(words + kChain * kLanes * 4, chains[kChain]), ...);
}

BRAID_INLINE void draw(uint32_t* words, uint64_t key, uint64_t moment,
                       uint64_t first) {
  draw(words, key, moment, first, std::make_index_sequence<kChains>());
}

}  // namespace

void random_words(uint32_t* words, uint64_t key, uint64_t moment,
                  uint64_t first, int64_t blocks) {
  int64_t b = 0;
  for (; b + kBlocks <= blocks; b += kBlocks) {
    draw(words + b * 4, key, moment, first + static_cast<uint64_t>(b));
  }
  if (b == blocks) return;
  uint32_t last[kBlocks * 4];
  draw(last, key, moment, first + static_cast<uint64_t>(b));
  std::memcpy(words + b * 4, last,
              static_cast<size_t>(blocks - b) * 4 * sizeof *words);
}

}  // namespace braid::runtime::BRAID_LEVEL
