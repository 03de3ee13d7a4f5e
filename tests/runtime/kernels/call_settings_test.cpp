#include <gtest/gtest.h>

#include <thread>

#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {
namespace {

TEST(CallSettingsTest, ThreadsAreAsBeforeAfterwards) {
  int before = call_threads();
  {
    CallSettings settings;
    EXPECT_EQ(call_threads(), before);
    set_call_threads(before + 3);
    {
      CallSettings inner;
      set_call_threads(1);
    }
    EXPECT_EQ(call_threads(), before + 3);
  }
  EXPECT_EQ(call_threads(), before);
}

TEST(CallSettingsTest, ThreadsAreTheCallersOwn) {
  CallSettings settings;
  int others = 0;
  auto ask = [&] { std::thread([&] { others = call_threads(); }).join(); };
  ask();
  int before = others;
  set_call_threads(before + 3);
  ask();
  EXPECT_EQ(others, before);
}

}  // namespace
}  // namespace braid::runtime
