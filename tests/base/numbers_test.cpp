#include "braid/base/numbers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace braid {
namespace {

TEST(Numbers, AreReadAsJsonAndYamlWriteThem) {
  EXPECT_EQ(parse_number("3"), 3.0);
  EXPECT_EQ(parse_number("-0.5"), -0.5);
  EXPECT_EQ(parse_number("1e-4"), 1e-4);
  EXPECT_EQ(parse_number("1E5"), 1e5);
  EXPECT_EQ(parse_number("+2"), 2.0);
  EXPECT_EQ(parse_number(".5"), 0.5);
  EXPECT_EQ(parse_number(".inf"), INFINITY);
  EXPECT_EQ(parse_number("-.inf"), -INFINITY);
  EXPECT_EQ(parse_number("inf"), INFINITY);
  EXPECT_TRUE(std::isnan(*parse_number(".nan")));
}

TEST(Numbers, RefuseWhatIsNone) {
  for (const char* text : {"", " ", "fast", "1e", "1 ", "1,5", "0x10", "+-1",
                           "--1", "1e999", "1_000"}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
}

TEST(Numbers, WholeOnesHave64Bits) {
  EXPECT_EQ(parse_whole("-7"), -7);
  EXPECT_EQ(parse_whole("9223372036854775807"), INT64_MAX);
  for (const char* text : {"", "9223372036854775808", "1.0", "1e3", "one"}) {
    EXPECT_FALSE(parse_whole(text)) << text;
  }
}

TEST(Numbers, FlagsAreTrueOrFalse) {
  EXPECT_EQ(parse_flag("true"), true);
  EXPECT_EQ(parse_flag("0"), false);
  for (const char* text : {"", "yes", "2", "True"}) {
    EXPECT_FALSE(parse_flag(text)) << text;
  }
}

TEST(Numbers, AreWrittenAsShortAsTheyReadBack) {
  EXPECT_EQ(yaml_number(0.1), "0.1");
  EXPECT_EQ(yaml_number(3), "3");
  EXPECT_EQ(yaml_number(1e-8), "1.0e-08");
  EXPECT_EQ(yaml_number(1.5e-8), "1.5e-08");
  EXPECT_EQ(yaml_number(-INFINITY), "-.inf");
  for (double number : {1e-8, 1e300, 1.0 / 3, -2.5e-17, 0.0, -0.5}) {
    EXPECT_EQ(parse_number(yaml_number(number)), number);
  }
}

}  // namespace
}  // namespace braid
