// What the text of a fusion says; that it computes the right numbers is tested
// where it can run.
#include "braid/runtime/kernels/fusion_source.h"

#include <gtest/gtest.h>

#include "braid/ops/core/channels_last.h"

namespace braid::runtime {
namespace {

alignas(64) std::byte memory[64];  // never read: begins where a pack may

Tensor tensor(DType dtype, const Shape& shape, const Strides& strides = {}) {
  return {memory, dtype, shape,
          strides.empty() ? contiguous_strides(shape) : strides};
}

FusionSource source(const std::string& steps, const Ints& outputs,
                    const std::vector<Tensor>& inputs,
                    const std::vector<Tensor>& made) {
  Attrs attrs{{"steps", steps}, {"outputs", outputs}};
  return fusion_source(read_fusion(attrs, inputs.size()), inputs, made);
}

bool says(const FusionSource& s, const std::string& text) {
  return s.text.find(text) != s.text.npos;
}

const Shape kLarge{1024, 1024};

TEST(FusionSourceTest, TextDependsOnSizesOnlyWhereItMust) {
  auto of = [](const Shape& shape) {
    Tensor t = tensor(DType::kFloat32, shape);
    return source("relu(x0)", {0}, {t}, {t}).text;
  };
  EXPECT_EQ(of({1024, 1024}), of({2048, 1024}));
}

TEST(FusionSourceTest, PacksAreSixteenBytesOfTheNarrowest) {
  Tensor narrow = tensor(DType::kBFloat16, kLarge);
  Tensor wide = tensor(DType::kFloat32, kLarge);
  EXPECT_EQ(source("relu(x0)", {0}, {narrow}, {narrow}).per_thread, 8);
  EXPECT_EQ(source("relu(x0)", {0}, {wide}, {wide}).per_thread, 4);
  EXPECT_EQ(source("to_f32(x0)", {0}, {narrow}, {wide}).per_thread, 8);
}

TEST(FusionSourceTest, FewElementsAreSharedOutToManyThreads) {
  Tensor t = tensor(DType::kFloat32, {16, 16});
  EXPECT_EQ(source("relu(x0)", {0}, {t}, {t}).per_thread, 1);
}

TEST(FusionSourceTest, NarrowStepsAreRounded) {
  Tensor t = tensor(DType::kBFloat16, kLarge);
  FusionSource s = source("add(x0, x0); mul(s0, s0)", {1}, {t}, {t});
  EXPECT_TRUE(says(s, "s0 = wide(Narrow<bf16>::of(a + b));"));
  EXPECT_TRUE(says(s, "s1 = wide(Narrow<bf16>::of(a * b));"));
}

TEST(FusionSourceTest, ChannelsThatLieLastAreReadInPacks) {
  Shape shape{64, 32, 32, 32};
  Tensor x = tensor(DType::kBFloat16, shape, channels_last_strides(shape));
  Tensor scale = tensor(DType::kFloat32, {1, 32, 1, 1});
  FusionSource s =
      source("to_f32(x0); mul(s0, x1); to_bf16(s1)", {2}, {x, scale}, {x});
  EXPECT_EQ(s.per_thread, 8);
  EXPECT_TRUE(says(s, "Pack<float, 8> p1 = *(const Pack<float, 8>*)(x1 + "));
}

TEST(FusionSourceTest, ChannelsBeforePlacesAreReadOncePerPack) {
  Tensor x = tensor(DType::kFloat32, {64, 32, 32, 32});
  Tensor scale = tensor(DType::kFloat32, {1, 32, 1, 1});
  FusionSource s = source("mul(x0, x1)", {0}, {x, scale}, {x});
  EXPECT_EQ(s.per_thread, 4);
  EXPECT_TRUE(says(s, "float p1 = x1["));
}

// An address that no pack begins at, and a row that no pack divides.
TEST(FusionSourceTest, OddPlacesAreReadOneByOne) {
  Tensor x = tensor(DType::kFloat32, kLarge);
  Tensor odd = x;
  odd.data += 4;
  EXPECT_EQ(source("add(x0, x1)", {0}, {x, odd}, {x}).per_thread, 1);
  Tensor rows = tensor(DType::kFloat32, {100003, 3});
  Tensor row = tensor(DType::kFloat32, {3});
  EXPECT_EQ(source("add(x0, x1)", {0}, {rows, row}, {rows}).per_thread, 1);
}

TEST(FusionSourceTest, EveryOpHasAFormula) {
  for (const auto* list : {&fusion_ops(), &mixed_fusion_ops()}) {
    for (const FusionOp& op : *list) {
      std::string steps = std::string(op.name) + "(x0";
      for (size_t i = 1; i < op.operands; ++i) steps += ", x0";
      for (const FusionNumber& number : op.numbers) {
        if (number.name) steps += std::string(", ") + number.name + "=0.5";
      }
      Tensor x = tensor(DType::kFloat32, kLarge);
      Tensor y = tensor(op.to.value_or(DType::kFloat32), kLarge);
      EXPECT_NO_THROW(source(steps + ")", {0}, {x}, {y})) << op.name;
    }
  }
}

TEST(FusionSourceTest, InfiniteLimitsAreNumbersOfCToo) {
  Tensor t = tensor(DType::kFloat32, kLarge);
  FusionSource s = source("clamp(x0, min=0, max=inf)", {0}, {t}, {t});
  EXPECT_TRUE(says(s, "T w = T((1.0 / 0.0));"));
}

}  // namespace
}  // namespace braid::runtime
