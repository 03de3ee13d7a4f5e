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

// Tasks that this thread does, and a stream whose events they wait for.
struct OwnWork {
  std::shared_ptr<EventBoard> board = std::make_shared<EventBoard>();
  Events events{4, board}, others{1, board};
  OwnTasks own{board};
  WorkStream stream;
  std::vector<int> order;

  void push(int number, int32_t event, std::span<const int32_t> waits = {}) {
    own.push([this, number] { order.push_back(number); }, events, event, waits);
  }
};

TEST(OwnTasks, RunInOrderAndOnlyWhenNothingIsAwaited) {
  OwnWork work;
  work.push(1, 1);
  work.push(2, 2, kFirst);
  work.push(3, 3);
  EXPECT_TRUE(work.order.empty());  // pushing runs nothing
  work.own.run_ready();
  EXPECT_EQ(work.order, (std::vector<int>{1}));
  EXPECT_TRUE(work.events.is_complete(1));
  EXPECT_FALSE(work.events.is_complete(3));
  work.events.set(0);
  work.own.run_ready();
  EXPECT_EQ(work.order, (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(work.own.empty());
  work.events.wait(3);
}

TEST(OwnTasks, RunInTheThreadThatAsks) {
  OwnWork work;
  std::thread::id ran;
  work.own.push([&] { ran = std::this_thread::get_id(); }, work.events, 1,
                kFirst);
  work.stream.push([] { pause_ms(10); }, work.events, 0, {});
  work.own.drain();
  EXPECT_EQ(ran, std::this_thread::get_id());
}

// What is awaited may follow a task of ours, or be another program's.
TEST(OwnTasks, AWaitEndsWithTheEventOrWhenATaskCanRun) {
  OwnWork work;
  work.push(1, 1, kFirst);
  work.stream.push([] { pause_ms(10); }, work.events, 0, {});
  work.own.await_ready_or(work.others, 0);  // the task can run
  EXPECT_TRUE(work.order.empty());
  work.own.run_ready();
  EXPECT_EQ(work.order, (std::vector<int>{1}));
  work.stream.push([] { pause_ms(10); }, work.others, 0, {});
  work.push(2, 3, std::vector<int32_t>{2});  // never can
  work.own.await_ready_or(work.others, 0);
  EXPECT_TRUE(work.others.is_complete(0));
  EXPECT_EQ(work.order, (std::vector<int>{1}));
  work.events.set(2);
  work.own.drain();
}

TEST(OwnTasks, AfterAnErrorTheyDoNotRunAndNothingHangs) {
  OwnWork work;
  work.push(1, 1, kFirst);
  work.stream.push([] { throw std::runtime_error("broken"); }, work.events, 0,
                   {});
  work.own.await_ready_or(work.events, 1);
  work.own.run_ready();
  EXPECT_TRUE(work.own.empty());
  EXPECT_TRUE(work.order.empty());
  EXPECT_THROW(work.events.wait(1), std::runtime_error);
}

}  // namespace
}  // namespace braid::runtime
