#include "braid/runtime/compute_turn.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace braid::runtime {
namespace {

class ComputeTurnTest : public testing::Test {
 protected:
  // Waits until so many ask for the turn that others have.
  void wait_for(int asking) {
    while (asking_ < asking) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

  // Takes the turn and writes its name down.
  std::thread asker(ComputeSeat& seat, char name) {
    return std::thread([this, &seat, name] {
      ++asking_;
      seat.take();
      order_ += name;
      seat.leave();
    });
  }

  std::shared_ptr<ComputeTurn> turn_ = std::make_shared<ComputeTurn>();
  std::atomic<int> asking_ = 0;
  std::string order_;  // written by who has the turn
};

TEST_F(ComputeTurnTest, TheLeastRankGoesFirst) {
  ComputeSeat a(turn_), b(turn_), c(turn_), d(turn_);
  b.set_rank(3);
  c.set_rank(1);
  d.set_rank(2);
  a.take();
  std::thread threads[] = {asker(b, 'b'), asker(c, 'c'), asker(d, 'd')};
  wait_for(3);
  a.leave();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order_, "cdb");
}

TEST_F(ComputeTurnTest, AnOfferIsForLessRankAlone) {
  ComputeSeat a(turn_), b(turn_), c(turn_);
  a.set_rank(1);
  b.set_rank(1);
  a.take();
  std::thread equal = asker(b, 'b');
  wait_for(1);
  a.offer();
  order_ += 'a';
  std::thread less = asker(c, 'c');
  wait_for(2);
  a.offer();  // of equal rank who asked first goes before it now
  order_ += 'A';
  a.leave();
  equal.join();
  less.join();
  EXPECT_EQ(order_, "acbA");
}

TEST_F(ComputeTurnTest, WhoWaitsForCopiesLetsOthersCompute) {
  ComputeSeat a(turn_), b(turn_);
  a.take();
  std::thread other = asker(b, 'b');
  {
    ComputeSeat::Away away(a);
    other.join();  // it had the turn meanwhile
    EXPECT_EQ(order_, "b");
  }
  std::thread again = asker(b, 'B');
  wait_for(2);
  EXPECT_EQ(order_, "b");  // a has it
  a.leave();
  again.join();
  EXPECT_EQ(order_, "bB");
}

TEST_F(ComputeTurnTest, ASeatThatIsGoneKeepsNothing) {
  {
    ComputeSeat a(turn_);
    a.take();
    a.take();  // has it already
  }
  ComputeSeat b(turn_);
  b.leave();  // has it not
  b.take();
}

TEST_F(ComputeTurnTest, TimeIsOfWhatWasGoingOn) {
  auto pause = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  };
  ComputeSeat a(turn_);
  pause();
  a.take();
  pause();
  {
    ComputeSeat::Away away(a);
    pause();
  }
  a.leave();
  ComputeTimes times = turn_->times();
  EXPECT_GE(times.idle_s, 0.03);
  EXPECT_GE(times.busy_s, 0.03);
  EXPECT_GE(times.copies_s, 0.03);
}

}  // namespace
}  // namespace braid::runtime
