// Convolutions of channels on their own, against the definition: every output
// is the sum of what the kernel meets.
#include <gtest/gtest.h>

#include <random>

#include "braid/runtime/kernels/kernel.h"
#include "runtime/kernels/op_named.h"

namespace braid::runtime {
namespace {

struct Case {
  int64_t members, images, channels;
  Shape sizes, kernel;
  Ints stride, padding, dilation;
  bool bias;

  // [B,] [N, C] and so on, as the operands lie.
  Shape led(Shape shape, const Shape& tail) const {
    if (members > 0) shape.insert(shape.begin(), members);
    shape.insert(shape.end(), tail.begin(), tail.end());
    return shape;
  }
  Shape outputs() const {
    Shape out;
    for (size_t d = 0; d < sizes.size(); ++d) {
      int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
      out.push_back((sizes[d] + 2 * padding[d] - reach) / stride[d] + 1);
    }
    return out;
  }
  Shape x() const { return led({images, channels}, sizes); }
  Shape y() const { return led({images, channels}, outputs()); }
  Shape w() const { return led({channels, 1}, kernel); }
  Shape b() const { return led({channels}, {}); }
  std::string op() const { return sizes.size() == 1 ? "conv1d" : "conv2d"; }
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << "members " << c.members << " x " << shape_text(c.x()) << " w "
       << shape_text(c.w()) << " stride " << shape_text(c.stride);
}

template <class T>
std::vector<T> numbers(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> x(static_cast<size_t>(num_elements(shape)));
  for (T& value : x) value = static_cast<T>(normal(random));
  return x;
}

template <class T>
Tensor tensor_of(std::vector<T>& x, const Shape& shape) {
  DType dtype = sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64;
  return {reinterpret_cast<std::byte*>(x.data()), dtype, shape,
          contiguous_strides(shape)};
}

template <class T>
std::vector<T> run(const Case& c, const std::string& op,
                   std::vector<Tensor> inputs, const Shape& shape) {
  static const KernelTable kTable = cpu_kernels();
  std::vector<T> out(static_cast<size_t>(num_elements(shape)), T(77));
  Node node;
  node.op = op_named(op);
  node.attrs.set("stride", c.stride);
  node.attrs.set("padding", c.padding);
  node.attrs.set("dilation", c.dilation);
  node.attrs.set("groups", c.channels);
  node.attrs.set("shape", Ints{shape.begin(), shape.end()});
  if (c.members > 0) node.attrs.set("members", c.members);
  Workspace workspace;
  Call call{.node = &node,
            .inputs = std::move(inputs),
            .outputs = {tensor_of(out, shape)},
            .workspace = &workspace};
  kTable.prepare(call)();
  return out;
}

// visit(y, x, w, channel) for all elements that meet, by their places.
template <class F>
void meet(const Case& c, const F& visit) {
  auto two = [](Shape s, int64_t fill) {
    return s.size() == 1 ? Shape{fill, s[0]} : s;
  };
  Shape in = two(c.sizes, 1), out = two(c.outputs(), 1), k = two(c.kernel, 1);
  Ints stride = two(c.stride, 1), pad = two(c.padding, 0),
       dilation = two(c.dilation, 1);
  int64_t sets = std::max<int64_t>(c.members, 1);
  for (int64_t p = 0; p < sets * c.images * c.channels; ++p) {
    int64_t channel = p / c.images / c.channels * c.channels + p % c.channels;
    for (int64_t o = 0; o < out[0] * out[1]; ++o) {
      for (int64_t t = 0; t < k[0] * k[1]; ++t) {
        int64_t i = o / out[1] * stride[0] - pad[0] + t / k[1] * dilation[0];
        int64_t j = o % out[1] * stride[1] - pad[1] + t % k[1] * dilation[1];
        if (i < 0 || i >= in[0] || j < 0 || j >= in[1]) continue;
        visit(p * out[0] * out[1] + o, (p * in[0] + i) * in[1] + j,
              channel * k[0] * k[1] + t);
      }
    }
  }
}

template <class T>
void expect_near(const std::vector<T>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  double tolerance = sizeof(T) == 4 ? 2e-4 : 1e-12;
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), want[i], tolerance) << i;
  }
}

template <class T>
void check(const Case& c) {
  auto x = numbers<T>(c.x(), 1), w = numbers<T>(c.w(), 2),
       dy = numbers<T>(c.y(), 3), b = numbers<T>(c.b(), 4);
  std::vector<double> y(dy.size()), dx(x.size()), dw(w.size());
  if (c.bias) {
    auto plane = y.size() / b.size() / static_cast<size_t>(c.images);
    auto channels = static_cast<size_t>(c.channels);
    for (size_t i = 0; i < y.size(); ++i) {
      size_t p = i / plane, set = p / channels / static_cast<size_t>(c.images);
      y[i] = static_cast<double>(b[set * channels + p % channels]);
    }
  }
  meet(c, [&](int64_t o, int64_t i, int64_t t) {
    auto at_o = static_cast<size_t>(o), at_i = static_cast<size_t>(i),
         at_t = static_cast<size_t>(t);
    y[at_o] += static_cast<double>(x[at_i]) * static_cast<double>(w[at_t]);
    dx[at_i] += static_cast<double>(dy[at_o]) * static_cast<double>(w[at_t]);
    dw[at_t] += static_cast<double>(dy[at_o]) * static_cast<double>(x[at_i]);
  });
  std::vector<Tensor> inputs{tensor_of(x, c.x()), tensor_of(w, c.w())};
  if (c.bias) inputs.push_back(tensor_of(b, c.b()));
  Tensor d = tensor_of(dy, c.y());
  expect_near(run<T>(c, c.op(), inputs, c.y()), y);
  expect_near(run<T>(c, c.op() + "_backward_input", {d, inputs[1]}, c.x()), dx);
  expect_near(run<T>(c, c.op() + "_backward_weight", {d, inputs[0]}, c.w()),
              dw);
}

class Depthwise : public testing::TestWithParam<Case> {};

TEST_P(Depthwise, IsTheSumOfWhatTheKernelMeets) {
  check<double>(GetParam());
  check<float>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, Depthwise,
    testing::Values(
        Case{0, 2, 16, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, false},
        Case{0, 3, 5, {7, 6}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, true},
        Case{3, 2, 17, {5, 9}, {3, 5}, {1, 2}, {1, 2}, {1, 1}, true},
        Case{2, 4, 40, {1, 1}, {5, 5}, {1, 1}, {2, 2}, {1, 1}, false},
        Case{2, 1, 33, {2, 2}, {5, 5}, {2, 2}, {2, 2}, {1, 1}, true},
        Case{1, 2, 2, {9, 8}, {3, 2}, {1, 1}, {0, 3}, {2, 3}, false},
        Case{0, 2, 20, {6, 6}, {2, 2}, {3, 3}, {0, 0}, {1, 1}, true},
        Case{4, 2, 6, {12}, {4}, {1}, {3}, {1}, true},
        Case{0, 2, 24, {11}, {3}, {2}, {0}, {2}, false},
        // As large as goes, and larger: libtorch's.
        Case{0, 2, 18, {32, 32}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true},
        Case{2, 1, 3, {60, 60}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, true}));

// Parts of the work are the same whoever does them.
TEST(DepthwiseThreads, BitsDoNotDependOnThem) {
  Case c{3, 8, 64, {16, 16}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, false};
  auto x = numbers<float>(c.x(), 1), w = numbers<float>(c.w(), 2),
       dy = numbers<float>(c.y(), 3);
  auto all = [&](int threads) {
    set_call_threads(threads);
    Tensor tx = tensor_of(x, c.x()), tw = tensor_of(w, c.w()),
           d = tensor_of(dy, c.y());
    return std::vector{run<float>(c, "conv2d", {tx, tw}, c.y()),
                       run<float>(c, "conv2d_backward_input", {d, tw}, c.x()),
                       run<float>(c, "conv2d_backward_weight", {d, tx}, c.w())};
  };
  EXPECT_EQ(all(1), all(2));
  set_call_threads(1);
}

}  // namespace
}  // namespace braid::runtime
