#include "braid/train/queue/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "thrown.h"

namespace braid::train {
namespace {

class LeaseTest : public testing::Test {
 protected:
  LeaseTerms terms() {
    return {.lasts_s = 10, .now = [this] { return now_; }};
  }
  LeaseTaker taker(const std::string& worker) {
    return {store_, worker, terms(),
            [this](const std::string& name) { return name == dead_; }};
  }

  runtime::LocalStore store_;
  double now_ = 100;
  std::string dead_;
};

TEST_F(LeaseTest, OneAtATimeHasIt) {
  LeaseTaker a = taker("a"), b = taker("b");
  auto lease = a.take("array-0", {});
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->number(), 1);
  EXPECT_FALSE(b.take("array-0", {}));
  EXPECT_TRUE(b.take("array-1", {}));
  lease->give_back();
  auto next = b.take("array-0", {.number = 1});
  ASSERT_TRUE(next);
  EXPECT_EQ(next->number(), 2);
}

TEST_F(LeaseTest, WhoIsSilentLosesItBeforeOthersTakeIt) {
  LeaseTaker a = taker("a"), b = taker("b");
  auto lease = a.take("array-0", {});
  EXPECT_FALSE(b.take("array-0", {}));  // sees it for the first time
  now_ += 9.9;
  lease->check();
  EXPECT_FALSE(b.take("array-0", {}));
  now_ += 0.1;
  EXPECT_THROW(lease->check(), std::runtime_error);
  auto next = b.take("array-0", {});
  ASSERT_TRUE(next);
  EXPECT_EQ(next->number(), 2);
  lease->renew();
  EXPECT_TRUE(lease->is_lost());
  lease->give_back();  // changes nothing
  next->renew();
  next->check();
}

TEST_F(LeaseTest, WhoRenewsItKeepsIt) {
  LeaseTaker a = taker("a"), b = taker("b");
  auto lease = a.take("array-0", {});
  for (int i = 0; i < 50; ++i) {
    now_ += 7;
    lease->renew();
    EXPECT_FALSE(b.take("array-0", {}));
  }
  lease->check();
}

TEST_F(LeaseTest, NobodyWaitsForTheDead) {
  LeaseTaker a = taker("a"), b = taker("b");
  auto lease = a.take("array-0", {});
  dead_ = "a";
  EXPECT_TRUE(b.take("array-0", {}));
}

// The folder knows of leases that a new store does not.
TEST_F(LeaseTest, AStoreThatBeganAnewIsWaitedFor) {
  LeaseTaker b = taker("b");
  LastLease last{.number = 7, .worker = "a"};
  EXPECT_FALSE(b.take("array-0", last));
  now_ += 10;
  auto lease = b.take("array-0", last);
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->number(), 8);
}

TEST_F(LeaseTest, AHolderWithoutItsStoreLosesItInTime) {
  struct Gone : runtime::Store {
    std::optional<std::string> get(const std::string&) override {
      throw std::runtime_error("gone");
    }
    bool replace(const std::string&, const std::string&,
                 const std::string&) override {
      throw std::runtime_error("gone");
    }
  } gone;
  Lease lease(gone, "array-0", 1, "a", terms(), now_);
  EXPECT_THROW(lease.renew(), std::runtime_error);
  lease.check();
  lease.give_back();
  Lease other(gone, "array-0", 1, "a", terms(), now_);
  now_ += 10;
  EXPECT_THAT(thrown_by<std::runtime_error>([&] { other.check(); }),
              testing::HasSubstr("could not be told in time"));
}

TEST_F(LeaseTest, OtherWordsAreRefused) {
  store_.replace("array-0", "", "nonsense");
  LeaseTaker a = taker("a");
  EXPECT_THROW(a.take("array-0", {}), std::runtime_error);
}

// Workers that sleep, forget to renew and lose their answers, at random.
TEST_F(LeaseTest, NeverDoTwoTrustTheirLeases) {
  for (int history = 0; history < 300; ++history) {
    runtime::LocalStore store;
    std::mt19937 random(static_cast<unsigned>(history));
    auto draw = [&](int below) {
      return static_cast<int>(random() % static_cast<unsigned>(below));
    };
    std::vector<LeaseTaker> takers;
    std::vector<std::unique_ptr<Lease>> held(4);
    for (int i = 0; i < 4; ++i) {
      takers.emplace_back(store, std::string(1, static_cast<char>('a' + i)),
                          terms(), [](const std::string&) { return false; });
    }
    int64_t highest = 0;
    for (int event = 0; event < 400; ++event) {
      now_ += draw(40) / 10.0;
      auto i = static_cast<size_t>(draw(4));
      if (held[i] && held[i]->is_lost()) held[i].reset();
      if (!held[i]) {
        held[i] = takers[i].take("array-0", {});
        if (held[i]) {
          EXPECT_GT(held[i]->number(), highest);
          highest = held[i]->number();
        }
      } else if (draw(3) > 0) {
        held[i]->renew();
      } else if (draw(10) == 0) {
        held[i]->give_back();
      }
      auto trusts = std::ranges::count_if(
          held, [](const auto& lease) { return lease && !lease->is_lost(); });
      ASSERT_LE(trusts, 1) << "history " << history << ", event " << event;
    }
    EXPECT_GT(highest, 3);
  }
}

}  // namespace
}  // namespace braid::train
