#include "braid/io/format/crc32.h"

#include <random>

#include "io/scratch.h"

namespace braid::io {
namespace {

TEST(Crc32, gives_the_known_sums) {
  EXPECT_EQ(crc32(bytes_of("123456789")), 0xcbf43926u);
  EXPECT_EQ(crc32({}), 0u);
  EXPECT_EQ(crc32(bytes_of("The quick brown fox jumps over the lazy dog")),
            0x414fa339u);
}

// The last two are from RFC 3720, B.4.
TEST(Crc32c, gives_the_known_sums) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\xff'))), 0x62a8ab43u);
}

// Pieces of every length, so that each way through the tables is taken.
TEST(Crc32, goes_on_from_what_was_before) {
  std::mt19937 random(3);
  std::string text(100, '\0');
  for (char& c : text) c = static_cast<char>(random());
  Bytes whole = bytes_of(text);
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    Bytes begin = whole.first(cut), rest = whole.subspan(cut);
    EXPECT_EQ(crc32(rest, crc32(begin)), crc32(whole)) << cut;
    EXPECT_EQ(crc32c(rest, crc32c(begin)), crc32c(whole)) << cut;
  }
}

}  // namespace
}  // namespace braid::io
