// Floats of two bytes against what their formats say, bit pattern by bit
// pattern.
#include "braid/base/narrow_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace braid {
namespace {

// The value of an f16 from its fields.
double half_of_fields(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) {
    return fraction ? std::nan("")
                    : sign * std::numeric_limits<double>::infinity();
  }
  return exponent == 0 ? sign * std::ldexp(fraction, -24)
                       : sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(NarrowFloat, EveryHalfHasTheValueOfItsFields) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    double want = half_of_fields(half), got = f16_value(half);
    ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : want == got) << bits;
  }
}

TEST(NarrowFloat, ValuesComeBackToTheirBits) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    auto bits = static_cast<uint16_t>(i);
    if (!std::isnan(f16_value(bits))) {
      ASSERT_EQ(f16_bits(f16_value(bits)), bits);
    }
    if (!std::isnan(bf16_value(bits))) {
      ASSERT_EQ(bf16_bits(bf16_value(bits)), bits);
    }
  }
  EXPECT_TRUE(std::isnan(f16_value(f16_bits(std::nanf("")))));
  EXPECT_TRUE(std::isnan(bf16_value(bf16_bits(std::nanf("")))));
}

// Between two neighbours: the nearer one, and the even one in the middle.
TEST(NarrowFloat, NumbersBetweenRoundToTheNearestAndThenToEven) {
  for (uint32_t i = 0; i < 0x7BFF; ++i) {
    auto low = static_cast<uint16_t>(i), high = static_cast<uint16_t>(i + 1);
    float a = f16_value(low), b = f16_value(high), middle = (a + b) / 2;
    ASSERT_EQ(f16_bits(middle), i % 2 == 0 ? low : high) << i;
    ASSERT_EQ(f16_bits(std::nextafter(middle, b)), high) << i;
    ASSERT_EQ(f16_bits(std::nextafter(middle, a)), low) << i;
    ASSERT_EQ(f16_bits(-std::nextafter(middle, b)), high | 0x8000) << i;
  }
  EXPECT_EQ(f16_bits(65519), 0x7BFF);
  EXPECT_EQ(f16_bits(65520), 0x7C00);
  EXPECT_EQ(bf16_bits(1.00390625F), 0x3F80);  // in the middle: even
  EXPECT_EQ(bf16_bits(1.01171875F), 0x3F82);  // in the middle: even
  EXPECT_EQ(bf16_bits(1.00390637F), 0x3F81);
}

TEST(NarrowFloat, NumbersAreReadByTheirType) {
  std::vector<std::byte> bytes(8, std::byte{0xFF});
  EXPECT_EQ(number_at(bytes.data(), DType::kInt8), -1);
  EXPECT_EQ(number_at(bytes.data(), DType::kUInt8), 255);
  EXPECT_EQ(number_at(bytes.data(), DType::kInt64), -1);
  EXPECT_EQ(number_at(bytes.data(), DType::kBool), 1);
  std::vector<std::byte> two = {std::byte{0x40}, std::byte{0x40}};
  EXPECT_EQ(number_at(two.data(), DType::kBFloat16), 3.0);
  EXPECT_EQ(number_at(two.data(), DType::kFloat16), 2.125);
  EXPECT_THROW(number_at(bytes.data(), DType::kComplex64),
               std::invalid_argument);
}

}  // namespace
}  // namespace braid
