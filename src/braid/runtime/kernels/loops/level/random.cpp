// Philox as in base/rng.h, for many counters side by side.
#include "braid/runtime/kernels/loops/level/level.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

// More than compilers unroll: an unrolled loop does not become vector code.
constexpr int64_t kLanes = 64;

// Word i of kLanes counters that follow one another.
struct Words {
  uint32_t at[4][kLanes];
};

BRAID_INLINE void start(Words& w, uint64_t first, uint64_t moment) {
  for (int64_t l = 0; l < kLanes; ++l) {
    uint64_t counter = first + static_cast<uint64_t>(l);
    w.at[0][l] = static_cast<uint32_t>(counter);
    w.at[1][l] = static_cast<uint32_t>(counter >> 32);
    w.at[2][l] = static_cast<uint32_t>(moment);
    w.at[3][l] = static_cast<uint32_t>(moment >> 32);
  }
}

BRAID_INLINE void mix(Words& w, uint32_t key0, uint32_t key1) {
  for (int64_t l = 0; l < kLanes; ++l) {
    uint64_t p0 = uint64_t{0xD2511F53} * w.at[0][l];
    uint64_t p1 = uint64_t{0xCD9E8D57} * w.at[2][l];
    w.at[0][l] = static_cast<uint32_t>(p1 >> 32) ^ w.at[1][l] ^ key0;
    w.at[1][l] = static_cast<uint32_t>(p1);
    w.at[2][l] = static_cast<uint32_t>(p0 >> 32) ^ w.at[3][l] ^ key1;
    w.at[3][l] = static_cast<uint32_t>(p0);
  }
}

BRAID_INLINE void draw(Words& w, uint64_t key, uint64_t first,
                       uint64_t moment) {
  auto key0 = static_cast<uint32_t>(key);
  auto key1 = static_cast<uint32_t>(key >> 32);
  start(w, first, moment);
  for (int round = 0; round < 10; ++round) {
    mix(w, key0, key1);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
}

}  // namespace

void random_words(uint32_t* words, uint64_t key, uint64_t moment,
                  uint64_t first, int64_t blocks) {
  for (int64_t b = 0; b < blocks; b += kLanes) {
    Words w;
    draw(w, key, first + static_cast<uint64_t>(b), moment);
    int64_t end = blocks - b < kLanes ? blocks - b : kLanes;
    for (int64_t l = 0; l < end; ++l) {
      for (int i = 0; i < 4; ++i) words[(b + l) * 4 + i] = w.at[i][l];
    }
  }
}

}  // namespace braid::runtime::BRAID_LEVEL
