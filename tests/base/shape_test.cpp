#include "braid/base/shape.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace braid {
namespace {

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ(num_elements({}), 1);
  EXPECT_EQ(num_elements({4, 3, 2}), 24);
  EXPECT_EQ(num_elements({4, 0, 2}), 0);
}

TEST(ShapeTest, RefusesNegativeAndOverflowingShapes) {
  EXPECT_THROW(num_elements({4, -1}), std::invalid_argument);
  EXPECT_THROW(num_elements({int64_t{1} << 32, int64_t{1} << 32}),
               std::invalid_argument);
}

TEST(ShapeTest, StridesAreRowMajor) {
  EXPECT_EQ(contiguous_strides({}), Strides{});
  EXPECT_EQ(contiguous_strides({4, 3, 2}), (Strides{6, 2, 1}));
  EXPECT_EQ(contiguous_strides({4, 0, 2}), (Strides{2, 2, 1}));
}

TEST(ShapeTest, KnowsContiguousViews) {
  EXPECT_TRUE(is_contiguous({4, 3}, {3, 1}));
  EXPECT_FALSE(is_contiguous({4, 3}, {1, 4}));
  EXPECT_FALSE(is_contiguous({4, 3}, {6, 1}));
  EXPECT_FALSE(is_contiguous({4}, {0}));
}

TEST(ShapeTest, SizesOfOneAndZeroDoNotMatterForContiguity) {
  EXPECT_TRUE(is_contiguous({4, 1, 3}, {3, 99, 1}));
  EXPECT_TRUE(is_contiguous({4, 0}, {7, 7}));
}

TEST(ShapeTest, SpanReachesOnePastTheLastElement) {
  EXPECT_EQ(span_elements({}, {}), 1);
  EXPECT_EQ(span_elements({4, 3}, {3, 1}), 12);
  EXPECT_EQ(span_elements({4, 3}, {10, 2}), 35);
  EXPECT_EQ(span_elements({4, 3}, {0, 1}), 3);
  EXPECT_EQ(span_elements({4, 0}, {3, 1}), 0);
}

TEST(ShapeTest, NegativeDimsCountFromTheEnd) {
  EXPECT_EQ(normalize_dim(2, 3, "t"), 2);
  EXPECT_EQ(normalize_dim(-1, 3, "t"), 2);
  EXPECT_EQ(normalize_dim(-3, 3, "t"), 0);
  EXPECT_EQ(normalize_dim(-1, 0, "t"), 0);
}

TEST(ShapeTest, DimsOutsideTheRankAreNamed) {
  EXPECT_THROW(normalize_dim(-4, 3, "t"), std::invalid_argument);
  try {
    normalize_dim(3, 3, "sum");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "[sum] dimension 3 is outside a value of rank 3");
  }
}

TEST(ShapeTest, Broadcasts) {
  EXPECT_EQ(broadcast_shapes({4, 1}, {3}, "t"), (Shape{4, 3}));
  EXPECT_EQ(broadcast_shapes({}, {2, 5}, "t"), (Shape{2, 5}));
  EXPECT_EQ(broadcast_shapes({1}, {0}, "t"), (Shape{0}));
  EXPECT_THROW(broadcast_shapes({4}, {3}, "t"), std::invalid_argument);
  EXPECT_THROW(broadcast_shapes({2, 3}, {2}, "t"), std::invalid_argument);
}

TEST(ShapeTest, Prints) {
  EXPECT_EQ(shape_text({}), "[]");
  EXPECT_EQ(shape_text({4, 3}), "[4, 3]");
}

}  // namespace
}  // namespace braid
