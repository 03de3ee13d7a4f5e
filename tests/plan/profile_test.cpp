#include "braid/plan/profile.h"

#include <gtest/gtest.h>

#include <cmath>

namespace braid::plan {
namespace {

TEST(Profile, KnowsWhatWasSet) {
  Profile profile;
  profile.set("conv2d grouped", 0.25);
  EXPECT_EQ(profile.find("conv2d grouped"), 0.25);
  EXPECT_EQ(profile.find("conv2d"), std::nullopt);
}

TEST(Profile, TakesWhatAnotherHas) {
  Profile profile, other;
  profile.set("a", 1);
  profile.set("b", 2);
  other.set("b", 3);
  other.set("c", 4);
  profile.add(other);
  EXPECT_EQ(profile.find("a"), 1);
  EXPECT_EQ(profile.find("b"), 3);
  EXPECT_EQ(profile.find("c"), 4);
}

TEST(Profile, ComesBackFromItsText) {
  Profile profile;
  profile.set("a \"quoted\" key", 1.0 / 3);
  profile.set("zero", 0);
  EXPECT_EQ(Profile::parse(profile.text()), profile);
}

TEST(Profile, RefusesWhatIsNoTime) {
  Profile profile;
  EXPECT_THROW(profile.set("key", -1), std::runtime_error);
  EXPECT_THROW(profile.set("key", NAN), std::runtime_error);
  for (const char* text : {"", "{}", "[]", R"({"seconds": {"a": "b"}})",
                           R"({"seconds": {"a": -1}})", R"({"seconds": 3})"}) {
    EXPECT_THROW(Profile::parse(text), std::runtime_error) << text;
  }
}

}  // namespace
}  // namespace braid::plan
