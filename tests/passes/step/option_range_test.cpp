#include "braid/passes/step/option_range.h"

#include <gtest/gtest.h>

#include <cmath>

namespace braid::passes {
namespace {

TEST(OptionRange, IsThatOfTheValue) {
  EXPECT_TRUE(option_range("lr").holds(0));
  EXPECT_FALSE(option_range("lr").holds(-1e-9));
  EXPECT_TRUE(option_range("lr").holds(INFINITY));
  EXPECT_TRUE(option_range("beta1").holds(0));
  EXPECT_FALSE(option_range("beta1").holds(1));
  EXPECT_FALSE(option_range("clip_norm").holds(0));
  EXPECT_TRUE(option_range("dampening").holds(-1));
  for (const char* name : {"lr", "beta1", "clip_norm", "dampening"}) {
    EXPECT_FALSE(option_range(name).holds(NAN)) << name;
  }
}

TEST(OptionRange, IsSaidInWords) {
  EXPECT_EQ(option_range("lr").text(), "at least 0");
  EXPECT_EQ(option_range("clip_value").text(), "above 0");
  EXPECT_EQ(option_range("ema_decay").text(), "from 0 to below 1");
}

}  // namespace
}  // namespace braid::passes
