#include "braid/base/bytes.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace braid {
namespace {

TEST(BytesTest, ReadsNumbersWithUnits) {
  EXPECT_EQ(parse_bytes("512"), 512);
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("7B"), 7);
  EXPECT_EQ(parse_bytes("64KiB"), 65536);
  EXPECT_EQ(parse_bytes("1.5 GiB"), 1610612736);
  EXPECT_EQ(parse_bytes("200MB"), 200000000);
  EXPECT_EQ(parse_bytes("2TiB"), int64_t{1} << 41);
}

TEST(BytesTest, RefusesEverythingElse) {
  for (const char* text : {"", "GiB", "-1", "4 gib", "4GiBs", "1e30", "nan",
                           "inf", "4194304TiB", "1,5GiB", " 4"}) {
    EXPECT_THROW(parse_bytes(text), std::invalid_argument) << text;
  }
}

TEST(BytesTest, PrintsInTheFittingUnit) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(10239), "10239 B");
  EXPECT_EQ(bytes_text(10240), "10.00 KiB");
  EXPECT_EQ(bytes_text(int64_t{3} << 19), "1.50 MiB");
  EXPECT_EQ(bytes_text(int64_t{4} << 30), "4.00 GiB");
  EXPECT_EQ(bytes_text(int64_t{5} << 40), "5.00 TiB");
}

TEST(BytesTest, AlignsUpwards) {
  EXPECT_EQ(align_up(0, 64), 0);
  EXPECT_EQ(align_up(1, 64), 64);
  EXPECT_EQ(align_up(64, 64), 64);
  EXPECT_EQ(align_up(65, 64), 128);
}

}  // namespace
}  // namespace braid
