#include "braid/data/mixup.h"

#include <cmath>
#include <map>

#include "braid/data/augment.h"
#include "data/samples.h"

namespace braid::data {
namespace {

// Sample i is an image of i's and has the label i.
class Counted : public Dataset {
 public:
  explicit Counted(int64_t size = 5, int64_t classes = 5)
      : Dataset("counted",
                {{"x", DType::kFloat32, {1, 1, 2}},
                 {"y", DType::kInt64, {}, classes}},
                size) {}
  void read(int64_t index, const Draw&,
            std::span<std::byte* const> out) const override {
    float pixels[] = {static_cast<float>(index), static_cast<float>(index)};
    std::memcpy(out[0], pixels, sizeof pixels);
    std::memcpy(out[1], &index, sizeof index);
  }
};

DatasetPtr mixed(const char* alpha) {
  return augment(std::make_shared<Counted>(), {{"mixup", alpha}});
}

TEST(Mixup, MakesProbabilitiesOfLabels) {
  DatasetPtr data = mixed("1");
  EXPECT_EQ(field_text(data->fields()[1]), "y f32 [5]");
  EXPECT_TRUE(data->fields()[1].is_mixed);
  for (int64_t epoch = 0; epoch < 100; ++epoch) {
    for (int64_t i = 0; i < 5; ++i) {
      auto x = values_of<float>(*data, i, 0, {3, epoch});
      auto y = values_of<float>(*data, i, 1, {3, epoch});
      float sum = 0, mean = 0;
      int others = 0;
      for (size_t c = 0; c < 5; ++c) {
        sum += y[c];
        mean += y[c] * static_cast<float>(c);
        others += y[c] > 0 && static_cast<int64_t>(c) != i;
      }
      ASSERT_NEAR(sum, 1, 1e-6);
      ASSERT_LE(others, 1);
      ASSERT_NEAR(x[0], mean, 1e-5);  // the same shares
      ASSERT_EQ(x[0], x[1]);
    }
  }
}

TEST(Mixup, IsTheSameForTheSameDraw) {
  DatasetPtr data = mixed("0.4");
  EXPECT_EQ(sample_of(*data, 2, {1, 2}), sample_of(*data, 2, {1, 2}));
  EXPECT_NE(sample_of(*data, 2, {1, 2}), sample_of(*data, 2, {1, 3}));
  EXPECT_NE(sample_of(*data, 2, {1, 2}), sample_of(*data, 2, {2, 2}));
}

// Mean 1/2 and variance 1 / (4 (2 alpha + 1)), also of tiny and large alphas;
// partners are all alike.
TEST(Mixup, SharesAreBeta) {
  for (double alpha : {0.001, 0.2, 1.0, 8.0}) {
    DatasetPtr data = mixup(std::make_shared<Counted>(), alpha, "test");
    double sum = 0, squares = 0;
    int count = 0;
    std::map<size_t, int> partners;
    for (int64_t epoch = 0; epoch < 8000; ++epoch) {
      auto y = values_of<float>(*data, 0, 1, {7, epoch});
      for (size_t c = 1; c < 5; ++c) {
        if (y[c] == 0 && y[0] != 1) continue;
        if (y[c] > 0) ++partners[c];
      }
      if (y[0] == 1) continue;  // its own partner, or a share of 1
      double share = static_cast<double>(y[0]);
      ASSERT_FALSE(std::isnan(share));
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
      ++count;
    }
    double variance = 1 / (4 * (2 * alpha + 1));
    if (alpha >= 0.2) {
      EXPECT_NEAR(sum / count, 0.5, 0.03) << alpha;
      EXPECT_NEAR(squares / count, variance, 0.06 * variance) << alpha;
    }
    EXPECT_EQ(partners.size(), 4U);
  }
}

TEST(Mixup, NeedsLabelsOfKnownClasses) {
  auto refused = [](DatasetPtr data) {
    return error_of<std::invalid_argument>([&] {
      augment(data, {{"mixup", "1"}});
    });
  };
  expect_contains(refused(std::make_shared<Counted>(5, 0)), "'classes: 10'");
  expect_contains(error_of<std::invalid_argument>([&] { mixed("-1"); }),
                  "expected a number from 0 to 1000 for 'mixup', got -1");
  DatasetPtr few = augment(std::make_shared<Counted>(5, 2), {{"mixup", "1"}});
  expect_contains(error_of<std::runtime_error>([&] { sample_of(*few, 3); }),
                  "expected a class from 0 to 1, got 3 (row 3 of counted)");
}

}  // namespace
}  // namespace braid::data
