#include "braid/plan/offsets.h"

#include <gtest/gtest.h>

#include "braid/base/bytes.h"
#include "plan/random_plans.h"

namespace braid::plan {
namespace {

Allocation alive(int64_t bytes, int32_t begin, int32_t end) {
  return {.bytes = bytes, .path = "", .begin = begin, .end = end};
}

std::vector<Allocation> random_allocations(Random& random, int count) {
  std::vector<Allocation> all;
  for (int i = 0; i < count; ++i) {
    int begin = below(random, 50);
    int64_t bytes =
        below(random, 4) == 0 ? below(random, 5000) : below(random, 20) * 64;
    all.push_back(alive(bytes, begin, begin + below(random, 20)));
  }
  return all;
}

bool overlap(const Allocation& a, const Allocation& b) {
  return a.begin <= b.end && b.begin <= a.end &&
         a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

int64_t most_alive(const std::vector<Allocation>& all) {
  int64_t most = 0;
  for (int at = 0; at < 100; ++at) {
    int64_t sum = 0;
    for (const Allocation& a : all) {
      if (a.begin <= at && at <= a.end) sum += align_up(a.bytes, kAlignment);
    }
    most = std::max(most, sum);
  }
  return most;
}

TEST(Offsets, NoTwoThatAreAliveTogetherOverlap) {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    auto all = random_allocations(random, 1 + below(random, 60));
    int64_t arena = place_allocations(all, Space::kArena);
    EXPECT_GE(arena, most_alive(all));
    EXPECT_EQ(arena % kAlignment, 0);
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].offset % kAlignment, 0);
      EXPECT_LE(all[i].offset + all[i].bytes, arena);
      for (size_t k = i + 1; k < all.size(); ++k) {
        ASSERT_FALSE(overlap(all[i], all[k])) << round;
      }
    }
  }
}

TEST(Offsets, AreDeterministic) {
  Random random(6);
  auto once = random_allocations(random, 200), again = once;
  EXPECT_EQ(place_allocations(once, Space::kArena),
            place_allocations(again, Space::kArena));
  for (size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].offset, again[i].offset);
  }
}

TEST(Offsets, MemoryIsUsedAgain) {
  std::vector<Allocation> all{alive(640, 0, 1), alive(640, 2, 3),
                              alive(128, 1, 2)};
  EXPECT_EQ(place_allocations(all, Space::kArena), 640 + 128);
  EXPECT_EQ(all[0].offset, all[1].offset);
}

TEST(Offsets, TheSmallestGapThatFitsIsTaken) {
  // At 5 the second and the fourth leave gaps of 512 and 384 bytes.
  std::vector<Allocation> all{alive(1024, 0, 9), alive(512, 0, 4),
                              alive(448, 0, 9),  alive(384, 0, 4),
                              alive(320, 0, 9),  alive(100, 5, 9)};
  place_allocations(all, Space::kArena);
  EXPECT_EQ(all[5].offset, all[3].offset);
}

TEST(Offsets, OtherSpacesStayAsTheyAre) {
  std::vector<Allocation> all{alive(64, 0, 9), alive(64, 0, 9)};
  all[1].space = Space::kHostArena;
  all[1].offset = 77;
  EXPECT_EQ(place_allocations(all, Space::kArena), 64);
  EXPECT_EQ(all[1].offset, 77);
}

TEST(Offsets, NothingTakesNothing) {
  std::vector<Allocation> none;
  EXPECT_EQ(place_allocations(none, Space::kArena), 0);
  std::vector<Allocation> empty{alive(0, 0, 9), alive(0, 0, 9)};
  EXPECT_EQ(place_allocations(empty, Space::kArena), 0);
}

// What place_allocations() promises, said plainly.
int64_t place_plainly(std::vector<Allocation>& all) {
  std::vector<Allocation*> order;
  for (Allocation& a : all) order.push_back(&a);
  std::ranges::stable_sort(order, std::greater<>(), &Allocation::bytes);
  std::vector<Allocation*> placed;
  int64_t arena = 0;
  for (Allocation* a : order) {
    a->offset = 0;
    if (a->bytes == 0) continue;
    int64_t bytes = align_up(a->bytes, kAlignment), end = 0, best = -1;
    int64_t best_room = 0;
    std::ranges::sort(placed, {}, &Allocation::offset);
    for (const Allocation* p : placed) {
      if (a->begin > p->end || p->begin > a->end) continue;
      int64_t room = p->offset - end;
      if (room >= bytes && (best < 0 || room < best_room)) {
        best = end;
        best_room = room;
      }
      end = std::max(end, p->offset + align_up(p->bytes, kAlignment));
    }
    a->offset = best >= 0 ? best : end;
    arena = std::max(arena, a->offset + bytes);
    placed.push_back(a);
  }
  return arena;
}

TEST(Offsets, AreThoseOfBestFitByLookingAtAllNeighbours) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    auto all = random_allocations(random, 1 + below(random, 200));
    auto plain = all;
    ASSERT_EQ(place_allocations(all, Space::kArena), place_plainly(plain));
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(all[i].offset, plain[i].offset) << round << " " << i;
    }
  }
}

}  // namespace
}  // namespace braid::plan
