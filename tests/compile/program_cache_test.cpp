#include "braid/compile/program_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace braid::compile {
namespace {

ProgramSet with_bytes(int64_t bytes) {
  ProgramSet set;
  set.peak_bytes = bytes;
  return set;
}

TEST(ProgramCache, CompilesEachKeyOnceForAllThreads) {
  ProgramCache cache;
  std::atomic<int> compiled = 0;
  std::vector<std::shared_ptr<const ProgramSet>> sets(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < sets.size(); ++i) {
    threads.emplace_back([&, i] {
      sets[i] = cache.get(i % 2 == 0 ? "even" : "odd", [&] {
        ++compiled;
        return with_bytes(static_cast<int64_t>(i % 2));
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiled, 2);
  for (size_t i = 0; i < sets.size(); ++i) {
    EXPECT_EQ(sets[i], sets[i % 2]);
    EXPECT_EQ(sets[i]->peak_bytes, static_cast<int64_t>(i % 2));
  }
}

TEST(ProgramCache, WhatFailedIsTriedAgain) {
  ProgramCache cache;
  auto fail = []() -> ProgramSet { throw std::runtime_error("too large"); };
  EXPECT_THROW(cache.get("a", fail), std::runtime_error);
  EXPECT_EQ(cache.get("a", [] { return with_bytes(3); })->peak_bytes, 3);
  EXPECT_EQ(cache.get("a", fail)->peak_bytes, 3);
}

}  // namespace
}  // namespace braid::compile
