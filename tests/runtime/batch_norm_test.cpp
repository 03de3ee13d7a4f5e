// Statistics of batch norm are near, however the values lie in memory.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "braid/base/rng.h"
#include "braid/runtime/evaluate.h"
#include "passes/text_graphs.h"

namespace braid::runtime {
namespace {

constexpr int64_t kRows = 2048, kChannels = 16;

// x[rows, channels], each channel around a mean of its own far from 0.
std::vector<float> values() {
  ElementRandom random(1, "x");
  std::vector<float> x(kRows * kChannels);
  for (size_t i = 0; i < x.size(); ++i) {
    auto channel = static_cast<double>(i % kChannels);
    x[i] = static_cast<float>(random.normal(i) + 5 + channel);
  }
  return x;
}

double mean_of(const std::vector<float>& x, int64_t channel) {
  double sum = 0;
  for (int64_t r = 0; r < kRows; ++r) {
    sum += x[static_cast<size_t>(r * kChannels + channel)];
  }
  return sum / kRows;
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(BatchNorm, MeansOfChannelsThatLieLastAreNear) {
  Graph graph = passes::graph_of(R"(
    slot "x" f32[2, 32, 32, 16] constant constant(0.0)
    slot "zero" f32[16] constant constant(0.0)
    %0: f32[2, 32, 32, 16] = read "x"
    %1: f32[16] = read "zero"
    %2: f32[2, 16, 32, 32] = permute(%0) {dims=[0, 3, 1, 2]}
    %3: f32[2, 16, 32, 32], %4: f32[16], %5: f32[16], %6: f32[16], %7: f32[16] = batch_norm(%2, _, _, %1, %1) {eps=1e-05, momentum=1.0, training=true}
    %8: f32[16] = copy(%6)
    output "mean" %8
  )");
  std::vector<float> x = values();
  auto results = evaluate(table(), graph, [&](SlotId slot) {
    bool is_x = graph.slot(slot).name == "x";
    return bytes_of(is_x ? x : std::vector<float>(kChannels));
  });
  std::vector<float> means(kChannels);
  std::memcpy(means.data(), results.at(0).data(), results.at(0).size());
  for (int64_t channel = 0; channel < kChannels; ++channel) {
    double want = mean_of(x, channel);
    EXPECT_NEAR(means[static_cast<size_t>(channel)], want, 1e-7 * want);
  }
}

}  // namespace
}  // namespace braid::runtime
