#include "braid/data/cast.h"

#include "data/samples.h"

namespace braid::data {
namespace {

class Mixed : public Dataset {
 public:
  Mixed()
      : Dataset("mixed",
                {{"a", DType::kFloat32, {2}},
                 {"y", DType::kInt64, {}, 3},
                 {"b", DType::kFloat64, {}}},
                2) {}
  void read(int64_t index, const Draw&,
            std::span<std::byte* const> out) const override {
    std::vector<float> a = {0.1F, static_cast<float>(index)};
    double b = 0.1;
    std::memcpy(out[0], a.data(), 8);
    std::memcpy(out[1], &index, 8);
    std::memcpy(out[2], &b, 8);
  }
};

TEST(CastFloats, Widens) {
  DatasetPtr data = cast_floats(std::make_shared<Mixed>(), DType::kFloat64);
  EXPECT_EQ(data->fields()[0], (Field{"a", DType::kFloat64, {2}}));
  EXPECT_EQ(data->fields()[1], (Field{"y", DType::kInt64, {}, 3}));
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(values_of<double>(*data, 1, 0), (std::vector<double>{0.1F, 1}));
  EXPECT_EQ(values_of<int64_t>(*data, 1, 1), std::vector<int64_t>{1});
  EXPECT_EQ(values_of<double>(*data, 1, 2), std::vector<double>{0.1});
}

TEST(CastFloats, Narrows) {
  DatasetPtr data = cast_floats(std::make_shared<Mixed>(), DType::kFloat32);
  EXPECT_EQ(values_of<float>(*data, 0, 0), (std::vector<float>{0.1F, 0}));
  EXPECT_EQ(values_of<float>(*data, 0, 2), std::vector<float>{0.1F});
}

TEST(CastFloats, LeavesOthersAlone) {
  auto numbers = std::make_shared<Numbers>(3);
  EXPECT_EQ(cast_floats(numbers, DType::kFloat64), numbers);
  EXPECT_THROW(cast_floats(numbers, DType::kInt64), std::invalid_argument);
  EXPECT_THROW(cast_floats(numbers, DType::kBFloat16), std::invalid_argument);
}

}  // namespace
}  // namespace braid::data
