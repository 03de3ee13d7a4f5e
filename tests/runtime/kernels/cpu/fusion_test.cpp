// Fusions give what their ops give one by one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "braid/ops/core/fusion.h"
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/kernel.h"
#include "runtime/kernels/op_named.h"

namespace braid::runtime {
namespace {

// Own kernels for fusions, libtorch's for the ops alone.
const KernelTable& kernels(const std::string& op) {
  static const KernelTable own = cpu_kernels();
  static const KernelTable general = [] {
    KernelTable table;
    add_aten_kernels(table, at::kCPU);
    return table;
  }();
  return op == "fusion" ? own : general;
}

template <class T>
constexpr DType kType = sizeof(T) == 8 ? DType::kFloat64 : DType::kFloat32;

// Memory, never none, and how it is looked at.
template <class T>
struct Array {
  std::vector<T> data;
  Shape shape;
  Strides strides;

  Array(const Shape& s, unsigned seed)
      : Array(s, contiguous_strides(s), seed) {}
  Array(const Shape& s, const Strides& t, unsigned seed)
      : data(static_cast<size_t>(span_elements(s, t)) + 1),
        shape(s),
        strides(t) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0, 2);
    for (T& v : data) v = static_cast<T>(normal(random));
    data.back() = 0;  // lies behind
  }
  Tensor tensor() {
    return {reinterpret_cast<std::byte*>(data.data()), kType<T>, shape,
            strides};
  }
};

void call(const std::string& op, const Attrs& attrs, std::vector<Tensor> inputs,
          std::vector<Tensor> outputs) {
  Node node;
  node.op = op_named(op);
  node.attrs = attrs;
  Workspace workspace;
  kernels(op).prepare({.node = &node,
                       .inputs = std::move(inputs),
                       .outputs = std::move(outputs),
                       .workspace = &workspace})();
}

template <class T>
std::vector<T> run_one(const std::string& op, const Attrs& attrs,
                       std::vector<Array<T>> inputs, const Shape& shape) {
  Array<T> y(shape, 1);
  std::vector<Tensor> tensors;
  for (Array<T>& x : inputs) tensors.push_back(x.tensor());
  call(op, attrs, tensors, {y.tensor()});
  return y.data;
}

template <class T>
std::vector<T> run_fusion(const std::string& steps,
                          std::vector<Array<T>> inputs, const Shape& shape,
                          int64_t output) {
  return run_one("fusion", {{"steps", steps}, {"outputs", Ints{output}}},
                 std::move(inputs), shape);
}

// Errors are measured by the element's size, or that of the inputs.
template <class T>
void expect_close(const std::vector<T>& found, const std::vector<T>& right) {
  double limit = sizeof(T) == 8 ? 1e-12 : 1e-6;
  ASSERT_EQ(found.size(), right.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(right[i]) && std::isnan(found[i])) continue;
    double scale = std::max(4.0, std::fabs(static_cast<double>(right[i])));
    ASSERT_LE(std::fabs(found[i] - right[i]), limit * scale) << i;
  }
}

// Numbers that the op's row takes.
Attrs attrs_of(const FusionOp& op, double first) {
  Attrs attrs;
  double value = first;
  for (const FusionNumber& number : op.numbers) {
    if (number.name) attrs.set(number.name, value);
    value += 1.5;
  }
  if (op.tanh) attrs.set("tanh", true);
  return attrs;
}

// The op between two others, so that its operands are of all kinds.
std::string steps_with(const FusionOp& op, const Attrs& attrs) {
  std::string text = fmt::format("neg(x0); neg(s0); {}(", op.name);
  const char* operands[] = {"s1", "x1", "x2"};
  for (size_t i = 0; i < op.operands; ++i) {
    text += fmt::format("{}{}", i > 0 ? ", " : "", operands[i]);
  }
  for (const FusionNumber& number : op.numbers) {
    if (!number.name) break;
    text += fmt::format(", {}={}", number.name, attrs.number(number.name));
  }
  return text + "); neg(s2); neg(s3)";
}

template <class T>
void expect_as_alone(const FusionOp& op, double first, const Shape& shape) {
  SCOPED_TRACE(fmt::format("{} {} {}", op.name, first, shape_text(shape)));
  Attrs attrs = attrs_of(op, first);
  std::vector<Array<T>> inputs;
  for (unsigned i = 0; i < 3; ++i) inputs.push_back({shape, 10 + i});
  std::vector<Array<T>> used(inputs.begin(),
                             inputs.begin() + static_cast<long>(op.operands));
  expect_close(run_fusion(steps_with(op, attrs), inputs, shape, 4),
               run_one(op.name, attrs, used, shape));
}

TEST(FusionKernelTest, EveryOpGivesWhatItGivesAlone) {
  for (const FusionOp& op : fusion_ops()) {
    bool is_power = std::string_view(op.name) == "pow_scalar";
    std::vector<double> numbers = {-1.0, 0.25, 0.75};
    if (is_power) numbers = {2.0, 3.0, 0.5, -0.5, -1.0};
    for (double first : numbers) {
      expect_as_alone<float>(op, first, {7, 300});
      expect_as_alone<double>(op, first, {7, 300});
    }
  }
}

template <class T>
void expect_same_bits(const FusionOp& op) {
  Attrs attrs = attrs_of(op, 0.5);
  std::vector<Array<T>> inputs;
  for (unsigned i = 0; i < 3; ++i) inputs.push_back({{1500}, 10 + i});
  Array<T> y({1500}, 1);
  Node node;
  node.op = op_named(op.name);
  node.attrs = attrs;
  Workspace workspace;
  Call alone{.node = &node,
             .inputs = {},
             .outputs = {y.tensor()},
             .workspace = &workspace};
  for (size_t i = 0; i < op.operands; ++i) {
    alone.inputs.push_back(inputs[i].tensor());
  }
  cpu_kernels().prepare(alone)();
  std::vector<T> fusion = run_fusion(steps_with(op, attrs), inputs, {1500}, 4);
  EXPECT_EQ(std::memcmp(fusion.data(), y.data.data(), 1500 * sizeof(T)), 0)
      << op.name;
}

// Whether a node finds others to join is no business of its results.
TEST(FusionKernelTest, OwnKernelsGiveTheSameBitsAlone) {
  for (const FusionOp& op : fusion_ops()) {
    expect_same_bits<float>(op);
    expect_same_bits<double>(op);
  }
}

TEST(FusionKernelTest, EveryNumberOfElements) {
  for (int64_t count : {0, 1, 2, 15, 16, 17, 1023, 1024, 1025, 4097}) {
    expect_as_alone<float>(*find_fusion_op("silu"), 0, {count});
    expect_as_alone<double>(*find_fusion_op("addcmul"), 0.5, {count});
  }
}

// Views of all kinds beside a plain operand.
TEST(FusionKernelTest, OperandsMayBeBroadcastAndStrided) {
  using A = Array<double>;
  const Shape shape{3, 5, 70, 11};
  const std::vector<A> others = {
      A({}, 3),
      A({1}, 3),
      A({11}, 3),
      A({70, 1}, 3),
      A({5, 1, 1}, 3),
      A({3, 1, 70, 11}, 3),
      A({3, 1, 1, 11}, 3),
      A({3, 5, 70, 11}, {2, 6, 30, 2100}, 3),
      A({3, 5, 70, 11}, {5 * 70 * 22, 70 * 22, 22, 2}, 3),
      A({3, 5, 70, 11}, {0, 11, 0, 1}, 3),
      A({70, 11}, {1, 70}, 3),
  };
  for (const A& other : others) {
    SCOPED_TRACE(shape_text(other.shape) + shape_text(other.strides));
    A x(shape, 4);
    std::vector<double> sum = run_one<double>("add", {}, {x, other}, shape);
    A between(shape, 1);
    between.data = sum;
    std::vector<double> right =
        run_one<double>("mul", {}, {between, other}, shape);
    EXPECT_EQ(
        run_fusion<double>("add(x0, x1); mul(s0, x1)", {x, other}, shape, 1),
        right);
  }
}

TEST(FusionKernelTest, ManyValuesAtOnceFitTheirBlocks) {
  std::string steps;
  for (int i = 0; i < 8; ++i)
    steps += fmt::format("add_scalar(x{}, value=1); ", i);
  for (int i = 0; i < 8; ++i) steps += fmt::format("neg(s{}); ", i);
  steps +=
      "add(s8, s9); add(s16, s10); add(s17, s11); add(s18, s12); "
      "add(s19, s13); add(s20, s14); add(s21, s15); neg(s22)";
  const Shape shape{3000};
  std::vector<Array<double>> inputs;
  std::vector<double> right(3001, 8.0);
  right.back() = 0;
  for (unsigned i = 0; i < 8; ++i) {
    inputs.push_back({shape, {2}, i});
    for (size_t k = 0; k < 3000; ++k) right[k] += inputs[i].data[2 * k];
  }
  expect_close(run_fusion(steps, inputs, shape, 23), right);
}

// y0 lies where x0 lies and is known first, but x0 is read once more.
TEST(FusionKernelTest, OutputsMayLieWhereInputsLie) {
  for (int64_t count : {1, 1024, 5000}) {
    Array<double> x({count}, 1), b({count}, 2);
    std::vector<double> first, second;
    for (size_t i = 0; i < x.data.size(); ++i) {
      first.push_back(x.data[i] + b.data[i]);
      second.push_back((first.back() - x.data[i]) * b.data[i]);
    }
    call("fusion",
         {{"steps", "add(x0, x1); sub(s0, x0); mul(s1, x1)"},
          {"outputs", Ints{0, 2}}},
         {x.tensor(), b.tensor()}, {x.tensor(), b.tensor()});
    EXPECT_EQ(x.data, first);
    EXPECT_EQ(b.data, second);
  }
}

// Also where the places are crossed.
TEST(FusionKernelTest, OutputsMayChangePlaces) {
  Array<float> x({3000}, 1), b({3000}, 2);
  Array<float> x_before = x, b_before = b;
  call("fusion",
       {{"steps", "neg(x0); neg(x1); neg(s0); neg(s1)"},
        {"outputs", Ints{2, 3}}},
       {x.tensor(), b.tensor()}, {b.tensor(), x.tensor()});
  EXPECT_EQ(b.data, x_before.data);
  EXPECT_EQ(x.data, b_before.data);
}

TEST(FusionKernelTest, ThreadsChangeNoBit) {
  const Shape shape{3, 50001};
  std::vector<Array<float>> inputs{{shape, 1}, {{50001}, 2}};
  const char* steps = "add(x0, x1); tanh(s0); mul(s1, x0); gelu(s2)";
  set_call_threads(1);
  std::vector<float> one = run_fusion(steps, inputs, shape, 3);
  set_call_threads(2);
  EXPECT_EQ(run_fusion(steps, inputs, shape, 3), one);
  set_call_threads(1);
}

}  // namespace
}  // namespace braid::runtime
