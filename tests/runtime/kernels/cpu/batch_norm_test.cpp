// A channel gets the same bits whatever channels lie beside it, so a member of
// an array those that it gets alone.
#include <gtest/gtest.h>

#include "braid/base/rng.h"
#include "braid/runtime/kernels/kernel.h"
#include "runtime/kernels/op_named.h"

namespace braid::runtime {
namespace {

using Numbers = std::vector<float>;

Tensor tensor_of(Numbers& x, Shape shape) {
  Strides strides = contiguous_strides(shape);
  return {reinterpret_cast<std::byte*>(x.data()), DType::kFloat32,
          std::move(shape), strides};
}

// Every output of a call, whose shapes are x's or [C].
std::vector<Numbers> run(const std::string& op, std::vector<Numbers> inputs,
                         const Shape& x, size_t num_outputs) {
  Node node;
  node.op = op_named(op);
  node.attrs = {{"training", true}, {"eps", 1e-5}, {"momentum", 0.1}};
  auto all = static_cast<size_t>(num_elements(x));
  auto channels = static_cast<size_t>(x[1]);
  std::vector<Numbers> outputs(num_outputs, Numbers(channels));
  outputs[0].resize(all);
  Workspace workspace;
  Call call{
      .node = &node, .inputs = {}, .outputs = {}, .workspace = &workspace};
  auto shape_of = [&](const Numbers& v) {
    return v.size() == all ? x : Shape{x[1]};
  };
  for (Numbers& v : inputs) call.inputs.push_back(tensor_of(v, shape_of(v)));
  for (Numbers& v : outputs) call.outputs.push_back(tensor_of(v, shape_of(v)));
  cpu_kernels().prepare(call)();
  return outputs;
}

// Channels [from, to) of x[N, C, S].
Numbers cut(const Numbers& x, const Shape& shape, int64_t from, int64_t to) {
  Numbers part;
  int64_t places = shape[2];
  for (int64_t n = 0; n < shape[0]; ++n) {
    auto row = x.begin() + n * shape[1] * places;
    part.insert(part.end(), row + from * places, row + to * places);
  }
  return part;
}

Numbers numbers(int64_t count, const char* name) {
  ElementRandom random(1, name);
  Numbers x;
  for (int64_t i = 0; i < count; ++i) {
    auto at = static_cast<uint64_t>(i);
    x.push_back(static_cast<float>(random.normal(at)));
  }
  return x;
}

TEST(BatchNormKernel, ChannelsDoNotFeelTheirNeighbours) {
  for (int64_t places : {1, 3, 16, 100, 600, 1100}) {
    constexpr int64_t kChannels = 7, kFrom = 3, kTo = 5;
    Shape all{6, kChannels, places}, some{6, kTo - kFrom, places};
    Numbers x = numbers(num_elements(all), "x");
    Numbers dy = numbers(num_elements(all), "dy");
    Numbers w = numbers(kChannels, "w"), b = numbers(kChannels, "b");
    Numbers few(w.begin() + kFrom, w.begin() + kTo);
    Numbers few_b(b.begin() + kFrom, b.begin() + kTo);
    auto forward = run("batch_norm", {x, w, b, w, b}, all, 5);
    auto alone =
        run("batch_norm", {cut(x, all, kFrom, kTo), few, few_b, few, few_b},
            some, 5);
    auto backward =
        run("batch_norm_backward", {dy, x, w, forward[1], forward[2]}, all, 3);
    auto back = run("batch_norm_backward",
                    {cut(dy, all, kFrom, kTo), cut(x, all, kFrom, kTo), few,
                     alone[1], alone[2]},
                    some, 3);
    for (auto [many, one] : {std::pair(&forward, &alone), {&backward, &back}}) {
      EXPECT_EQ(cut((*many)[0], all, kFrom, kTo), (*one)[0]) << places;
      for (size_t i = 1; i < many->size(); ++i) {
        const Numbers& v = (*many)[i];
        EXPECT_EQ(Numbers(v.begin() + kFrom, v.begin() + kTo), (*one)[i]);
      }
    }
  }
}

}  // namespace
}  // namespace braid::runtime
