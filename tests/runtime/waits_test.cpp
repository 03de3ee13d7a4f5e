#include "braid/runtime/waits.h"

#include <gtest/gtest.h>

#include <time.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

namespace braid::runtime {
namespace {

int64_t thread_cpu_ns() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// A thread that is told about its cores every few milliseconds.
class Watched {
 public:
  // Lets time pass with this share of it lost; whether cores are shared then.
  bool pass(double seconds, double lost) {
    bool shared = false;
    for (double end = now_ + seconds; now_ < end;) {
      now_ += 0.004;
      delay_ += 0.004 * lost;
      shared = watch_.is_shared(now_, delay_);
    }
    return shared;
  }

 private:
  CoreWatch watch_;
  double now_ = 100, delay_ = 7;
};

TEST(CoreWatchTest, QuietCoresAreNotShared) {
  Watched thread;
  EXPECT_FALSE(thread.pass(10, 0));
  EXPECT_FALSE(thread.pass(10, 0.1));
}

// One turn of another process is not enough; a tenth of a second is.
TEST(CoreWatchTest, CoresThatOthersTakeAreSharedSoon) {
  Watched thread;
  thread.pass(1, 0);
  EXPECT_FALSE(thread.pass(0.004, 1));
  EXPECT_FALSE(thread.pass(1, 0));
  EXPECT_TRUE(thread.pass(0.1, 0.5));
  EXPECT_TRUE(thread.pass(20, 0.3));
}

// It waits for its own helpers only: others took less than they did.
TEST(CoreWatchTest, CoresThatItsOwnThreadsTakeAreNotShared) {
  Watched thread;
  EXPECT_FALSE(thread.pass(10, -0.2));
  EXPECT_FALSE(thread.pass(10, 0.1));
  EXPECT_TRUE(thread.pass(0.1, 0.5));
}

TEST(CoreWatchTest, TheyAreQuietAgainAfterASecondAtLeast) {
  Watched thread;
  ASSERT_TRUE(thread.pass(0.1, 0.5));
  EXPECT_TRUE(thread.pass(0.5, 0));
  EXPECT_FALSE(thread.pass(2, 0));
}

// Sleeping threads may lose so little that cores look quiet.
TEST(CoreWatchTest, WhoComesBackAtOnceStaysLonger) {
  Watched thread;
  ASSERT_TRUE(thread.pass(0.1, 0.5));
  ASSERT_FALSE(thread.pass(1.2, 0));
  ASSERT_TRUE(thread.pass(0.1, 0.5));
  EXPECT_TRUE(thread.pass(1.7, 0));
  EXPECT_FALSE(thread.pass(2, 0));
  thread.pass(10, 0);
  ASSERT_TRUE(thread.pass(0.1, 0.5));
  EXPECT_FALSE(thread.pass(2, 0)) << "the last time was long ago";
}

TEST(RunDelayTest, IsAPartOfTheTimeOfAThread) {
  std::optional<double> before = run_delay_s();
  if (!before) GTEST_SKIP() << "this system does not say";
  std::this_thread::yield();
  EXPECT_GE(*run_delay_s(), *before);
}

TEST(CoreSecondsTest, AreThoseOfTheThread) {
  EXPECT_FALSE([] {
    std::thread none;
    return core_s(none);
  }());
  std::atomic<double> worked = 0;
  std::atomic<bool> over = false;
  std::thread thread([&] {
    while (worked < 0.02) {
      worked = std::chrono::duration<double>(
                   std::chrono::nanoseconds(thread_cpu_ns()))
                   .count();
    }
    while (!over) std::this_thread::yield();
  });
  while (worked < 0.02) std::this_thread::yield();
  EXPECT_GE(core_s(thread).value_or(1), 0.02);
  over = true;
  thread.join();
}

int64_t num_threads() {
  std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// The system may see the end of a thread a moment later.
bool falls_to(int64_t count) {
  for (int i = 0; i < 1000 && num_threads() > count; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return num_threads() <= count;
}

TEST(ShortWaitsTest, HasMoreThreadsThanCoresAndTakesThemAway) {
  int64_t before = num_threads();
  for (int i = 0; i < 3; ++i) {
    {
      ShortWaits waits;
      EXPECT_GT(num_threads(), before + std::thread::hardware_concurrency());
    }
    EXPECT_TRUE(falls_to(before));
  }
}

}  // namespace
}  // namespace braid::runtime
