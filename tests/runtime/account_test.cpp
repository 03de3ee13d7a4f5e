#include "braid/runtime/account.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

namespace braid::runtime {
namespace {

TEST(Account, KeepsItsLimitToTheByte) {
  Account account("cpu", 1000);
  account.charge(600, "a");
  account.charge(400, "b");
  EXPECT_EQ(account.used_bytes(), 1000);
  EXPECT_EQ(account.room_bytes(), 0);
  EXPECT_THROW(account.charge(1, "c"), std::runtime_error);
  account.release(1);
  account.charge(1, "c");
  EXPECT_EQ(account.limit_bytes(), 1000);
}

TEST(Account, TellsWhatDoesNotFitAndChangesNothing) {
  Account account("gpu7", 1000);
  account.charge(600, "a");
  try {
    account.charge(401, "arena of the step");
    FAIL() << "passed its limit";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()),
              "[memory] arena of the step of 401 bytes do not fit on gpu7: 600 "
              "of 1000 bytes are in use, 1 bytes short");
  }
  EXPECT_EQ(account.used_bytes(), 600);
  EXPECT_EQ(account.peak_bytes(), 600);
}

TEST(Account, ThePeakIsTheMostThatWasInUse) {
  Account account("cpu");
  account.charge(5, "a");
  account.release(5);
  account.charge(3, "b");
  EXPECT_EQ(account.peak_bytes(), 5);
  EXPECT_EQ(account.used_bytes(), 3);
}

TEST(Account, HugeChargesDoNotOverflow) {
  Account account("cpu", 1000);
  account.charge(10, "a");
  EXPECT_THROW(account.charge(std::numeric_limits<int64_t>::max(), "b"),
               std::runtime_error);
  EXPECT_EQ(account.used_bytes(), 10);
}

TEST(Account, ThreadsNeverPassTheLimitTogether) {
  Account account("cpu", 100);
  std::atomic<int> granted = 0;
  auto worker = [&] {
    for (int i = 0; i < 20000; ++i) {
      try {
        account.charge(40, "part");
      } catch (const std::runtime_error&) {
        continue;
      }
      ++granted;
      account.release(40);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(worker);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(account.used_bytes(), 0);
  EXPECT_LE(account.peak_bytes(), 80);
  EXPECT_GT(granted, 0);
}

}  // namespace
}  // namespace braid::runtime
