// Dropout of channels, alpha dropout, and layers that drop inside: what is
// drawn is right on average and a member draws what it draws alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>

#include "braid/base/rng.h"
#include "braid/ops/build/functions.h"
#include "braid/passes/names.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/kernels/cuda_backend.h"
#include "braid/train/trainer.h"
#include "kernels.h"

namespace braid {
namespace {

using Numbers = std::vector<double>;
using Layer = std::function<Var(Var x, const Draw& draw)>;

Var scalar(Graph& graph, const std::string& name, DType dtype, Role role,
           double value) {
  return read(graph, graph.add_slot({.name = name,
                                     .dtype = dtype,
                                     .shape = {},
                                     .role = role,
                                     .use = use_of_name(name, role),
                                     .init = Init::constant(value)}));
}

Draw make_draw(Graph& graph, double p) {
  return {scalar(graph, passes::hyper_slot("drop.p"), DType::kFloat64,
                 Role::kHyper, p),
          scalar(graph, passes::kSeedSlot, DType::kInt64, Role::kCounter, 0),
          scalar(graph, passes::kStepSlot, DType::kInt64, Role::kCounter, 0),
          input(graph, passes::kMicroInput, {DType::kInt64, {}})};
}

// y = layer(x) beside a loss of y, x a parameter.
Graph make_graph(const OpTable& ops, const Shape& shape, double p,
                 const Layer& layer) {
  Graph graph(ops);
  Var x = read(graph, graph.add_slot({.name = "x",
                                      .dtype = DType::kFloat64,
                                      .shape = shape,
                                      .init = Init::constant(0)}));
  Var y = layer(x, make_draw(graph, p));
  Ints dims(y.shape().size());
  std::iota(dims.begin(), dims.end(), 0);
  graph.add_output("y", apply("copy", {y}).id);
  graph.add_output("loss", sum(mul(y, y), dims).id);
  return graph;
}

Numbers numbers(std::span<const std::byte> bytes) {
  Numbers list(bytes.size() / sizeof(double));
  std::memcpy(list.data(), bytes.data(), bytes.size());
  return list;
}

struct Outcome {
  Numbers y, dx;
};

// One step with the given seeds; x is the same for all members. No member
// axis unless asked for.
Outcome run(const Shape& shape, double p, const Layer& layer, const Numbers& x,
            const std::vector<int64_t>& seeds, bool as_array,
            runtime::Backend& backend) {
  OpTable ops = standard_ops();
  train::TrainerOptions options{.optimizer = passes::make_optimizer("sgd")};
  if (as_array) options.members = static_cast<int64_t>(seeds.size());
  train::Trainer trainer(ops, make_graph(ops, shape, p, layer), backend,
                         options);
  trainer.initialise(seeds);
  Numbers all;
  for (size_t m = 0; m < seeds.size(); ++m) {
    all.insert(all.end(), x.begin(), x.end());
  }
  trainer.state().write(trainer.state().find("x"),
                        std::as_bytes(std::span(all)));
  Outcome result;
  trainer.executor().tap_gradients(
      [&](SlotId, std::span<const std::byte> bytes) {
        result.dx = numbers(bytes);
      });
  trainer.step([](int64_t, ValueId) -> const std::byte* { return nullptr; });
  result.y = numbers(trainer.executor().output("y"));
  return result;
}

Outcome run(const Shape& shape, double p, const Layer& layer, const Numbers& x,
            const std::vector<int64_t>& seeds, bool as_array) {
  runtime::CpuBackend cpu(kernels(), {});
  return run(shape, p, layer, x, seeds, as_array, cpu);
}

Numbers normals(const Shape& shape) {
  Numbers x(static_cast<size_t>(num_elements(shape)));
  ElementRandom random(5, "x");
  for (size_t i = 0; i < x.size(); ++i) x[i] = random.normal(i);
  return x;
}

Numbers ones(const Shape& shape) {
  return Numbers(static_cast<size_t>(num_elements(shape)), 1.0);
}

double mean_of(const Numbers& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) /
         static_cast<double>(x.size());
}

TEST(Dropout, InBf16DrawsTheSameAndRoundsOnce) {
  Shape shape{6, 35};
  double p = 0.3;
  for (bool strided : {false, true}) {
    SCOPED_TRACE(strided);
    auto turned = [=](Var x) { return strided ? transpose(x, 0, 1) : x; };
    Layer wide = [=](Var x, const Draw& draw) {
      return dropout(turned(x), draw);
    };
    Layer narrow = [=](Var x, const Draw& draw) {
      Var y = dropout(turned(cast(x, DType::kBFloat16)), draw);
      return cast(y, DType::kFloat64);
    };
    Outcome expected = run(shape, p, wide, normals(shape), {4}, false);
    Outcome got = run(shape, p, narrow, normals(shape), {4}, false);
    ASSERT_EQ(got.y.size(), expected.y.size());
    for (size_t i = 0; i < got.y.size(); ++i) {
      EXPECT_EQ(got.y[i] == 0, expected.y[i] == 0);
      // x and the result are rounded to 8 bits.
      EXPECT_NEAR(got.y[i], expected.y[i], std::abs(expected.y[i]) / 128);
    }
  }
}

TEST(FeatureDropout, DropsWholeChannelsAtTheRate) {
  Shape shape{40, 50, 2, 3};
  Numbers y = run(shape, 0.3, feature_dropout, ones(shape), {7}, false).y;
  double dropped = 0;
  for (size_t channel = 0; channel < 2000; ++channel) {
    double first = y[channel * 6];
    EXPECT_TRUE(first == 0 || std::abs(first - 1 / 0.7) < 1e-12) << first;
    for (size_t i = 1; i < 6; ++i) EXPECT_EQ(y[channel * 6 + i], first);
    dropped += first == 0 ? 1 : 0;
  }
  EXPECT_NEAR(dropped / 2000, 0.3, 0.04);
}

TEST(FeatureDropout, GradientIsDroppedAlike) {
  Shape shape{4, 5, 3};
  Outcome r = run(shape, 0.5, feature_dropout, ones(shape), {7}, false);
  for (size_t i = 0; i < r.y.size(); ++i) {
    EXPECT_DOUBLE_EQ(r.dx[i], 2 * r.y[i] * r.y[i]);
  }
}

TEST(FeatureDropout, NeedsChannels) {
  EXPECT_THROW(run({4}, 0.5, feature_dropout, ones({4}), {7}, false),
               std::invalid_argument);
}

TEST(AlphaDropout, KeepsMeanAndVariance) {
  Shape shape{100, 300};
  Numbers x = normals(shape);
  Numbers y = run(shape, 0.2, alpha_dropout, x, {3}, false).y;
  double mean = mean_of(y), square = 0;
  for (double v : y) square += (v - mean) * (v - mean);
  EXPECT_NEAR(mean, mean_of(x), 0.03);
  EXPECT_NEAR(square / static_cast<double>(y.size()), 1, 0.03);
}

// The two lines that PyTorch's formula draws: a x + b and a constant.
TEST(AlphaDropout, IsTheFormula) {
  Shape shape{10, 30};
  double p = 0.4, low = -1.7580993408473766;
  double a = 1 / std::sqrt((low * low * p + 1) * (1 - p));
  Numbers x = normals(shape);
  Numbers y = run(shape, p, alpha_dropout, x, {3}, false).y;
  size_t dropped = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double kept = a * x[i] - a * low * p, gone = a * low * (1 - p);
    bool is_gone = std::abs(y[i] - gone) < 1e-12;
    dropped += is_gone ? 1 : 0;
    EXPECT_TRUE(is_gone || std::abs(y[i] - kept) < 1e-12);
  }
  EXPECT_GT(dropped, 80u);
  EXPECT_LT(dropped, 160u);
}

TEST(AlphaDropout, OfFeaturesTakesWholeChannels) {
  Shape shape{6, 8, 4};
  Numbers y = run(shape, 0.5, feature_alpha_dropout, ones(shape), {3}, false).y;
  EXPECT_EQ(std::set<double>(y.begin(), y.end()).size(), 2u);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], y[i / 4 * 4]);
}

Var attend(Var x, const Draw& draw) {
  return attention(x, mul_scalar(x, 0.5), x,
                   Attention{.causal = true, .dropout = draw});
}

// Two layers with constant weights; dropout lies between them.
Var recur(Var x, const Draw& draw) {
  Var w = full_like(x, {6, x.dim(2)}, 0.2), v = full_like(x, {6, 2}, -0.1);
  Var u = full_like(x, {6, 2}, 0.3);
  return gru(x, {}, {w, v, u, v}, {.layers = 2, .bias = false, .dropout = draw})
      .y;
}

TEST(Attention, WithARateOfZeroIsPlainAttention) {
  Shape shape{2, 2, 5, 4};
  Numbers x = normals(shape);
  Outcome dropping = run(shape, 0, attend, x, {3}, false);
  Outcome plain = run(
      shape, 0,
      [](Var v, const Draw&) {
        return attention(v, mul_scalar(v, 0.5), v, true);
      },
      x, {3}, false);
  for (size_t i = 0; i < plain.y.size(); ++i) {
    EXPECT_NEAR(dropping.y[i], plain.y[i], 1e-12);
    EXPECT_NEAR(dropping.dx[i], plain.dx[i], 1e-12);
  }
}

TEST(Attention, DropsWeights) {
  Shape shape{2, 2, 5, 4};
  Numbers x = normals(shape);
  EXPECT_NE(run(shape, 0.5, attend, x, {3}, false).y,
            run(shape, 0.0, attend, x, {3}, false).y);
}

void expect_members_as_alone(const Shape& shape, const Layer& layer) {
  Numbers x = normals(shape);
  std::vector<int64_t> seeds{11, 12, 13};
  Outcome all = run(shape, 0.3, layer, x, seeds, true);
  Numbers first;
  for (size_t m = 0; m < seeds.size(); ++m) {
    Outcome one = run(shape, 0.3, layer, x, {seeds[m]}, false);
    if (m == 0) first = one.y;
    if (m == 1) {
      EXPECT_NE(one.y, first) << "seeds do not matter";
    }
    for (size_t i = 0; i < one.y.size(); ++i) {
      EXPECT_NEAR(all.y[m * one.y.size() + i], one.y[i], 1e-12);
    }
    for (size_t i = 0; i < one.dx.size(); ++i) {
      EXPECT_NEAR(all.dx[m * one.dx.size() + i], one.dx[i], 1e-12);
    }
  }
}

TEST(Members, DrawWhatTheyDrawAlone) {
  expect_members_as_alone({4, 5, 3}, feature_dropout);
  expect_members_as_alone({4, 5}, alpha_dropout);
  expect_members_as_alone({4, 5, 3}, feature_alpha_dropout);
  expect_members_as_alone({2, 2, 5, 4}, attend);
  expect_members_as_alone({4, 3, 2}, recur);
}

void expect_equal_devices(const Shape& shape, const Layer& layer,
                          runtime::Backend& gpu) {
  Numbers x = normals(shape);
  for (bool as_array : {false, true}) {
    std::vector<int64_t> seeds{11, 12, 13};
    if (!as_array) seeds.resize(1);
    Outcome there = run(shape, 0.3, layer, x, seeds, as_array);
    Outcome here = run(shape, 0.3, layer, x, seeds, as_array, gpu);
    for (size_t i = 0; i < there.y.size(); ++i) {
      EXPECT_NEAR(here.y[i], there.y[i], 1e-11);
      EXPECT_NEAR(here.dx[i], there.dx[i], 1e-11);
    }
  }
}

TEST(GpuDropout, DrawsWhatTheCpuDraws) {
  if (!runtime::has_cuda()) GTEST_SKIP() << "no CUDA device here";
  auto gpu = runtime::make_cuda_backend(kernels(), {});
  expect_equal_devices({5, 13}, dropout, *gpu);
  expect_equal_devices({4, 5, 3}, feature_dropout, *gpu);
  expect_equal_devices({4, 5}, alpha_dropout, *gpu);
  expect_equal_devices({4, 5, 3}, feature_alpha_dropout, *gpu);
  expect_equal_devices({2, 2, 5, 4}, attend, *gpu);
}

}  // namespace
}  // namespace braid
