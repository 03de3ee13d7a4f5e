#include "braid/base/printable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace braid {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Printable, LeavesPlainTextAlone) {
  EXPECT_EQ(printable("head.weight"), "head.weight");
  EXPECT_EQ(printable("größe 重"), "größe 重");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, WritesCodesOfTerminalsOut) {
  EXPECT_EQ(printable("\x1b[31mred\x7f\n"), "\\x1b[31mred\\x7f\\x0a");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");
}

TEST(Printable, WritesBytesOutThatAreNoText) {
  EXPECT_EQ(printable("a\xff\xe9"), "a\\xff\\xe9");
}

TEST(Printable, CutsLongText) {
  EXPECT_EQ(printable(std::string(100, 'a')), std::string(100, 'a'));
  EXPECT_EQ(printable(std::string(3'000'000, 'a')),
            std::string(100, 'a') + "...");
  EXPECT_EQ(printable("äöüß", 5), "äöü...");
}

TEST(Printable, MessagesKeepTheirLines) {
  EXPECT_EQ(printable_message("[a] b\x07\n  c\nHINT: d"),
            "[a] b\\x07\n  c\nHINT: d");
}

TEST(Printable, LongMessagesKeepTheirEnds) {
  std::string text = "[a] first";
  for (int i = 0; i < 100'000; ++i) text += "\n  line " + std::to_string(i);
  text += "\nHINT: last";
  std::string shown = printable_message(text);
  EXPECT_LT(shown.size(), 5000u);
  EXPECT_THAT(shown, StartsWith("[a] first\n  line 0\n"));
  EXPECT_THAT(shown, HasSubstr("\n  ... 99,798 more lines\n"));
  EXPECT_THAT(shown, EndsWith("\n  line 99999\nHINT: last"));
}

TEST(Printable, GroupsDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(-1000), "-1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
}

TEST(Listing, CountsWhatItDoesNotShow) {
  Listing listing;
  EXPECT_TRUE(listing.empty());
  listing.add("a");
  listing.add("b");
  EXPECT_EQ(listing.text(), "\n  a\n  b");
  for (int i = 0; i < 1'000'000; ++i) listing.add("c");
  EXPECT_FALSE(listing.has_room());
  EXPECT_THAT(listing.text(), EndsWith("\n  c\n  and 999,982 more"));
}

}  // namespace
}  // namespace braid
