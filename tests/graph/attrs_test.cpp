#include "braid/graph/attrs.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace braid {
namespace {

Attrs sample() {
  return {{"keep", true},
          {"dim", int64_t{-1}},
          {"eps", 1e-5},
          {"mode", std::string("mean")},
          {"pads", Ints{1, 2}}};
}

TEST(AttrsTest, GivesBackWhatWasSet) {
  Attrs attrs = sample();
  EXPECT_EQ(attrs.flag("keep"), true);
  EXPECT_EQ(attrs.integer("dim"), -1);
  EXPECT_EQ(attrs.number("eps"), 1e-5);
  EXPECT_EQ(attrs.text("mode"), "mean");
  EXPECT_EQ(attrs.ints("pads"), (Ints{1, 2}));
}

TEST(AttrsTest, AreSortedByName) {
  std::vector<std::string> names;
  Attrs attrs = sample();
  for (const auto& item : attrs.items()) names.push_back(item.first);
  EXPECT_EQ(names,
            (std::vector<std::string>{"dim", "eps", "keep", "mode", "pads"}));
}

TEST(AttrsTest, SetReplaces) {
  Attrs attrs = sample();
  attrs.set("dim", 2.5);
  EXPECT_EQ(attrs.number("dim"), 2.5);
  EXPECT_EQ(attrs.items().size(), 5u);
}

TEST(AttrsTest, EraseRemovesOnlyThatName) {
  Attrs attrs = sample();
  attrs.erase("dim");
  attrs.erase("nothing");
  EXPECT_FALSE(attrs.has("dim"));
  EXPECT_TRUE(attrs.has("eps"));
  EXPECT_EQ(attrs.items().size(), 4u);
}

TEST(AttrsTest, FindsOnlyWholeNames) {
  Attrs attrs = sample();
  EXPECT_NE(attrs.find("dim"), nullptr);
  EXPECT_EQ(attrs.find("di"), nullptr);
  EXPECT_EQ(attrs.find("dims"), nullptr);
  EXPECT_EQ(attrs.find(""), nullptr);
}

TEST(AttrsTest, IntegersAreNumbersButNotTheReverse) {
  EXPECT_EQ(sample().number("dim"), -1.0);
  EXPECT_THROW(sample().integer("eps"), std::invalid_argument);
}

TEST(AttrsTest, WrongTypesAndMissingNamesThrow) {
  Attrs attrs = sample();
  EXPECT_THROW(attrs.flag("dim"), std::invalid_argument);
  EXPECT_THROW(attrs.integer("keep"), std::invalid_argument);
  EXPECT_THROW(attrs.number("mode"), std::invalid_argument);
  EXPECT_THROW(attrs.text("pads"), std::invalid_argument);
  EXPECT_THROW(attrs.ints("dim"), std::invalid_argument);
  EXPECT_THROW(attrs.number("nothing"), std::invalid_argument);
}

TEST(AttrsTest, DefaultsStandInForMissingNamesOnly) {
  Attrs attrs = sample();
  EXPECT_EQ(attrs.integer_or("nothing", 4), 4);
  EXPECT_EQ(attrs.integer_or("dim", 4), -1);
  EXPECT_EQ(attrs.flag_or("nothing", true), true);
  EXPECT_EQ(attrs.flag_or("keep", false), true);
  EXPECT_EQ(attrs.number_or("nothing", 0.5), 0.5);
  EXPECT_EQ(attrs.number_or("eps", 0.5), 1e-5);
  EXPECT_THROW(attrs.integer_or("eps", 4), std::invalid_argument);
}

TEST(AttrsTest, CompareByNameTypeAndValue) {
  EXPECT_EQ(sample(), sample());
  Attrs one{{"a", int64_t{1}}};
  EXPECT_NE(one, (Attrs{{"a", 1.0}}));
  EXPECT_NE(one, (Attrs{{"b", int64_t{1}}}));
  EXPECT_EQ((Attrs{{"a", int64_t{1}}, {"b", true}}),
            (Attrs{{"b", true}, {"a", int64_t{1}}}));
}

}  // namespace
}  // namespace braid
