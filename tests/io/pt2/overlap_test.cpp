// Parts of one storage, and expressions of sizes.
#include "braid/io/pt2/overlap.h"

#include <gtest/gtest.h>

#include "braid/io/pt2/symbol_value.h"

namespace braid::io::pt2 {
namespace {

StoredTensor tensor(const Shape& shape, const Shape& strides, int64_t offset,
                    const std::string& path = "weight_0") {
  StoredTensor result;
  result.path = path;
  for (int64_t size : shape) result.meta.sizes.push_back({size});
  for (int64_t stride : strides) result.meta.strides.push_back({stride});
  result.meta.offset = {offset};
  return result;
}

TEST(Overlap, RowsOverlapWhereTheyShareOne) {
  StoredTensor first = tensor({2, 4}, {4, 1}, 0);
  EXPECT_TRUE(overlap(first, tensor({2, 4}, {4, 1}, 4)));
  EXPECT_FALSE(overlap(first, tensor({2, 4}, {4, 1}, 8)));
  EXPECT_FALSE(overlap(first, tensor({2, 4}, {4, 1}, 4, "weight_1")));
  EXPECT_TRUE(overlap(first, tensor({}, {}, 7)));
  EXPECT_FALSE(overlap(first, tensor({}, {}, 8)));
}

TEST(Overlap, InterleavedColumnsDoNot) {
  StoredTensor even = tensor({3, 2}, {4, 2}, 0),
               odd = tensor({3, 2}, {4, 2}, 1);
  EXPECT_FALSE(overlap(even, odd));
  EXPECT_TRUE(overlap(even, tensor({12}, {1}, 0)));
  EXPECT_TRUE(overlap(odd, tensor({1, 4}, {4, 1}, 8)));
  EXPECT_FALSE(overlap(odd, tensor({1}, {1}, 8)));
}

TEST(Overlap, EmptyAndExpandedTensors) {
  StoredTensor all = tensor({8}, {1}, 0);
  EXPECT_FALSE(overlap(all, tensor({0, 4}, {4, 1}, 0)));
  // One element, however often: this must not take years.
  StoredTensor wide = tensor({int64_t{1} << 40, 2}, {0, 4}, 1);
  EXPECT_TRUE(overlap(all, wide));
  EXPECT_FALSE(overlap(tensor({2, 2}, {4, 2}, 0), wide));
}

TEST(SymbolValue, SumsAndProducts) {
  std::map<std::string, int64_t> symbols{{"s0", 3}, {"s17", 5}};
  EXPECT_EQ(symbol_value("s0", symbols), 3);
  EXPECT_EQ(symbol_value("2*s17 + 1", symbols), 11);
  EXPECT_EQ(symbol_value("2*(s0 + -1)*s17", symbols), 20);
  EXPECT_EQ(symbol_value("7", {}), 7);
}

TEST(SymbolValue, NothingWhereItIsNotKnown) {
  std::map<std::string, int64_t> symbols{{"s0", int64_t{1} << 40}};
  for (const char* text : {"s1", "s0*s0", "s0 +", "(s0", "s0)", "", "2 s0",
                           "FloorDiv(s0, 2)", "9999999999999999999"}) {
    EXPECT_EQ(symbol_value(text, symbols), std::nullopt) << text;
  }
  EXPECT_EQ(symbol_value(std::string(1000, '('), {}), std::nullopt);
}

}  // namespace
}  // namespace braid::io::pt2
