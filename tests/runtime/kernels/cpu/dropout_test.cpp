// Dropout keeps the elements whose own random number says so.
#include <gtest/gtest.h>

#include <numeric>

#include "braid/base/rng.h"
#include "braid/runtime/kernels/kernel.h"
#include "runtime/kernels/op_named.h"

namespace braid::runtime {
namespace {

template <class T>
Tensor tensor_of(std::vector<T>& x, DType dtype) {
  Shape shape{static_cast<int64_t>(x.size())};
  return {reinterpret_cast<std::byte*>(x.data()), dtype, shape,
          contiguous_strides(shape)};
}

std::vector<float> drop(std::vector<float> x, double p, uint64_t rng_key) {
  std::vector<float> y(x.size());
  std::vector<double> rate{p};
  std::vector<int64_t> seed{5}, step{9}, micro{2};
  Node node;
  node.op = op_named("dropout");
  node.rng_key = rng_key;
  Workspace workspace;
  Call call{
      .node = &node,
      .inputs = {tensor_of(x, DType::kFloat32),
                 tensor_of(rate, DType::kFloat64),
                 tensor_of(seed, DType::kInt64), tensor_of(step, DType::kInt64),
                 tensor_of(micro, DType::kInt64)},
      .outputs = {tensor_of(y, DType::kFloat32)},
      .workspace = &workspace};
  cpu_kernels().prepare(call)();
  return y;
}

TEST(DropoutTest, EveryElementFollowsItsOwnNumber) {
  constexpr uint64_t kKey = 11;
  DrawKey key = draw_key(5, kKey, 9, 2);
  for (size_t count : {1, 6, 1023, 1025, 9001}) {
    for (double p : {0.0, 0.3, 0.5, 1.0}) {
      std::vector<float> x(count);
      std::iota(x.begin(), x.end(), 1.0f);
      std::vector<float> y = drop(x, p, kKey);
      for (size_t i = 0; i < count; ++i) {
        auto factor = static_cast<float>(1 / (1 - p));
        bool stays = draw_uniform(key, i) >= p;
        ASSERT_EQ(y[i], stays ? x[i] * factor : 0) << i << " at " << p;
      }
    }
  }
}

}  // namespace
}  // namespace braid::runtime
