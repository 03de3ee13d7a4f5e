#include "braid/runtime/stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

namespace braid::runtime {
namespace {

constexpr int32_t kFirstEvents[] = {0};
constexpr std::span<const int32_t> kFirst(kFirstEvents);

void pause_ms(int count) {
  std::this_thread::sleep_for(std::chrono::milliseconds(count));
}

TEST(Streams, JobsRunInOrder) {
  Events events(100);
  WorkStream stream;
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    stream.push([&order, i] { order.push_back(i); }, events, i, {});
  }
  stream.drain();
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Streams, AWaitReturnsWhenTheJobIsDone) {
  Events events(1);
  WorkStream stream;
  std::atomic<bool> done = false;
  stream.push(
      [&] {
        pause_ms(20);
        done = true;
      },
      events, 0, {});
  events.wait(0);
  EXPECT_TRUE(done);
}

TEST(Streams, AJobStartsAfterTheEventItFollows) {
  Events events(3);
  WorkStream first, second;
  std::atomic<int> at = 0;
  int seen = -1;
  second.push([&] { seen = at; }, events, 1, kFirst);
  pause_ms(10);
  first.push(
      [&] {
        pause_ms(10);
        at = 1;
      },
      events, 0, {});
  events.wait(1);
  EXPECT_EQ(seen, 1);
}

TEST(Streams, AnErrorTravelsToEveryWaiter) {
  Events events(3);
  WorkStream first, second;
  second.push([] {}, events, 1, kFirst);  // follows the job that fails
  first.push([] { throw std::runtime_error("broken"); }, events, 0, {});
  EXPECT_THROW(events.wait(0), std::runtime_error);
  EXPECT_THROW(events.wait(1), std::runtime_error);
  EXPECT_THROW(events.wait(2), std::runtime_error);  // nobody completes it
  first.drain();
  second.drain();
}

TEST(Streams, TheFirstErrorIsKeptUntilTheNextPass) {
  Events events(2);
  WorkStream stream;
  stream.push([] { throw std::runtime_error("first"); }, events, 0, {});
  stream.push([] { throw std::runtime_error("second"); }, events, 1, {});
  stream.drain();
  try {
    events.wait(1);
    FAIL() << "lost an error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
  events.reset();
  stream.push([] {}, events, 0, {});
  events.wait(0);
}

TEST(Streams, JobsAfterAFailedOneStillRun) {
  Events events(2);
  WorkStream stream;
  bool ran = false;
  stream.push([] { throw 1; }, events, 0, {});
  stream.push([&] { ran = true; }, events, 1, {});
  stream.drain();
  EXPECT_TRUE(ran);
}

TEST(Streams, DestructionFinishesWhatWasQueued) {
  std::atomic<int> count = 0;
  {
    Events events(50);
    WorkStream stream;
    for (int i = 0; i < 50; ++i) {
      stream.push([&] { ++count; }, events, i, {});
    }
  }
  EXPECT_EQ(count, 50);
}

TEST(Streams, AnUnusedStreamDrainsAtOnce) {
  WorkStream stream;
  stream.drain();
}

// Two streams that wait for each other's events in turn.
TEST(Streams, PassBackAndForth) {
  constexpr int kTurns = 200;
  Events events(kTurns);
  WorkStream even, odd;
  std::vector<int> order;
  for (int i = 0; i < kTurns; ++i) {
    WorkStream& stream = i % 2 == 0 ? even : odd;
    std::vector<int32_t> previous;
    if (i > 0) previous.push_back(i - 1);
    stream.push([&order, i] { order.push_back(i); }, events, i, previous);
  }
  events.wait(kTurns - 1);
  ASSERT_EQ(order.size(), static_cast<size_t>(kTurns));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

}  // namespace
}  // namespace braid::runtime
