#include "braid/runtime/stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

namespace braid::runtime {
namespace {

void pause_ms(int count) {
  std::this_thread::sleep_for(std::chrono::milliseconds(count));
}

TEST(Streams, JobsRunInOrder) {
  Events events;
  events.reset(100);
  Stream stream(events);
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    stream.push([&order, i] { order.push_back(i); }, i, kNone);
  }
  stream.drain();
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Streams, AWaitReturnsWhenTheJobIsDone) {
  Events events;
  events.reset(1);
  Stream stream(events);
  std::atomic<bool> done = false;
  stream.push(
      [&] {
        pause_ms(20);
        done = true;
      },
      0, kNone);
  events.wait(0);
  EXPECT_TRUE(done);
}

TEST(Streams, AJobStartsAfterTheEventItFollows) {
  Events events;
  events.reset(3);
  Stream first(events), second(events);
  std::atomic<int> at = 0;
  int seen = -1;
  second.push([&] { seen = at; }, 1, 0);
  pause_ms(10);
  first.push(
      [&] {
        pause_ms(10);
        at = 1;
      },
      0, kNone);
  events.wait(1);
  EXPECT_EQ(seen, 1);
}

TEST(Streams, AnErrorTravelsToEveryWaiter) {
  Events events;
  events.reset(3);
  Stream first(events), second(events);
  second.push([] {}, 1, 0);  // follows the job that fails
  first.push([] { throw std::runtime_error("broken"); }, 0, kNone);
  EXPECT_THROW(events.wait(0), std::runtime_error);
  EXPECT_THROW(events.wait(1), std::runtime_error);
  EXPECT_THROW(events.wait(2), std::runtime_error);  // nobody completes it
  first.drain();
  second.drain();
}

TEST(Streams, TheFirstErrorIsKeptUntilTheNextPass) {
  Events events;
  events.reset(2);
  Stream stream(events);
  stream.push([] { throw std::runtime_error("first"); }, 0, kNone);
  stream.push([] { throw std::runtime_error("second"); }, 1, kNone);
  stream.drain();
  try {
    events.wait(1);
    FAIL() << "lost an error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
  events.reset(1);
  stream.push([] {}, 0, kNone);
  events.wait(0);
}

TEST(Streams, JobsAfterAFailedOneStillRun) {
  Events events;
  events.reset(2);
  Stream stream(events);
  bool ran = false;
  stream.push([] { throw 1; }, 0, kNone);
  stream.push([&] { ran = true; }, 1, kNone);
  stream.drain();
  EXPECT_TRUE(ran);
}

TEST(Streams, DestructionFinishesWhatWasQueued) {
  std::atomic<int> count = 0;
  {
    Events events;
    events.reset(50);
    Stream stream(events);
    for (int i = 0; i < 50; ++i) {
      stream.push([&] { ++count; }, i, kNone);
    }
  }
  EXPECT_EQ(count, 50);
}

TEST(Streams, AnUnusedStreamDrainsAtOnce) {
  Events events;
  Stream stream(events);
  stream.drain();
}

// Two streams that wait for each other's events in turn.
TEST(Streams, PassBackAndForth) {
  Events events;
  constexpr int kTurns = 200;
  events.reset(kTurns);
  Stream even(events), odd(events);
  std::vector<int> order;
  for (int i = 0; i < kTurns; ++i) {
    Stream& stream = i % 2 == 0 ? even : odd;
    stream.push([&order, i] { order.push_back(i); }, i, i - 1);
  }
  events.wait(kTurns - 1);
  ASSERT_EQ(order.size(), static_cast<size_t>(kTurns));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

}  // namespace
}  // namespace braid::runtime
