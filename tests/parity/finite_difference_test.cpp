// Gradients against finite differences: the slope of a row's loss along a
// random direction. libtorch has no part in it, so an error that both share
// shows here.
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <cmath>

#include "braid/runtime/cpu_backend.h"
#include "kernels.h"
#include "row_checks.h"

namespace braid::parity {
namespace {

// What has, on purpose, no true gradient: all of a row, or one input, which
// then stays as it is.
struct Exception {
  const char* op;
  const char* note;  // a part of the row's
  int input;         // -1: all
  const char* reason;
};

constexpr int kAll = -1;
constexpr Exception kExceptions[] = {
    {"", "wide", kAll, "float32 on the way, too coarse to take differences"},
    {"where", "f32", kAll, "the same"},
    {"where", "two scalars", kAll, "the same"},
    {"embedding", "pad", kAll, "the padding row does not learn"},
    {"bounded_norm", "cosine", kAll, "libtorch looks through the bound"},
    {"gaussian_nll_loss", "", 2, "libtorch looks through the bound"},
    {"detach", "", kAll, "no gradient flows"},
    {"batch_norm", "eval", 3, "running statistics do not learn"},
    {"batch_norm", "eval", 4, "the same"},
    {"instance_norm", "eval", 3, "the same"},
    {"instance_norm", "eval", 4, "the same"},
    {"cross_entropy_loss", "", 2, "weights of classes do not learn"},
    {"nll_loss", "", 2, "the same"},
    {"binary_cross_entropy", "", 2, "weights of entries do not learn"},
    {"binary_cross_entropy_with_logits", "", 2, "the same"},
    {"binary_cross_entropy_with_logits", "", 3, "the same"},
};

bool is_excepted(const Row& row, int input) {
  return std::any_of(
      std::begin(kExceptions), std::end(kExceptions), [&](const Exception& e) {
        return (*e.op == 0 || row.op == e.op) && e.input == input &&
               row.note.find(e.note) != row.note.npos;
      });
}

bool is_moved(const Row& row, size_t i) {
  const Arg& arg = row.args[i];
  return (arg.kind == Arg::Kind::kFloat || arg.kind == Arg::Kind::kPositive) &&
         num_elements(arg.shape) > 0 && !is_excepted(row, static_cast<int>(i));
}

// Rows of plain numbers with finite floats as a result.
bool is_smooth(const Row& row) {
  bool any = false;
  for (size_t i = 0; i < row.args.size(); ++i) {
    Arg::Kind kind = row.args[i].kind;
    if (kind == Arg::Kind::kSteps || kind == Arg::Kind::kSpecial) return false;
    any = any || is_moved(row, i);
  }
  if (!any || is_excepted(row, kAll)) return false;
  at::Tensor y = row.reference(random_inputs(row, DType::kFloat64, 0));
  return y.is_floating_point() && y.numel() > 0 &&
         y.isfinite().all().item<bool>();
}

std::vector<Row> smooth_rows() {
  std::vector<Row> rows;
  for (Row& row : all_rows()) {
    if (is_smooth(row)) rows.push_back(std::move(row));
  }
  return rows;
}

// A few entries of each float, so that kinks are seldom crossed.
Tensors random_direction(const Row& row, const Tensors& inputs, uint64_t seed) {
  constexpr double kMostEntries = 32;
  at::Generator random = at::detail::createCPUGenerator(seed);
  auto options = at::TensorOptions(at::kDouble);
  Tensors direction(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_moved(row, i)) continue;
    auto sizes = inputs[i].sizes();
    double share = kMostEntries / static_cast<double>(inputs[i].numel());
    direction[i] = at::randn(sizes, random, options) *
                   (at::rand(sizes, random, options) < share);
  }
  return direction;
}

Tensors moved(const Tensors& inputs, const Tensors& direction, double by) {
  Tensors result = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (direction[i].defined()) result[i] = inputs[i] + direction[i] * by;
  }
  return result;
}

struct Slopes {
  double coarse, fine;
  double size;  // of the numbers they are differences of

  double best() const { return (4 * fine - coarse) / 3; }
};

Slopes measure(PreparedRow& row, const Tensors& inputs,
               const Tensors& direction) {
  constexpr double kStep = 2e-5;
  auto loss = [&](double by) {
    row.run({moved(inputs, direction, by)});
    return row.loss();
  };
  auto slope = [&](double step) {
    return (loss(step) - loss(-step)) / (2 * step);
  };
  return {slope(kStep), slope(kStep / 2), std::abs(loss(0))};
}

class FiniteDifferences : public testing::TestWithParam<Row> {};

TEST_P(FiniteDifferences, GiveTheSlopesThatTheGradientSays) {
  const Row& row = GetParam();
  runtime::CpuBackend backend(kernels(), {});
  Tensors inputs = random_inputs(row, DType::kFloat64, 0);
  PreparedRow prepared(row, {inputs}, DType::kFloat64, backend, false);
  Results gradient = prepared.run({inputs})[0];
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Tensors direction = random_direction(row, inputs, seed);
    double expected = 0, squares = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!direction[i].defined()) continue;
      at::Tensor parts =
          gradient.at(fmt::format("in{}", i)).to(at::kDouble) * direction[i];
      expected += parts.sum().item<double>();
      squares += parts.square().sum().item<double>();
    }
    Slopes slopes = measure(prepared, inputs, direction);
    // Rounding of the loss, over a step of 1e-5, is some 1e-10 of it.
    double scale = std::max({std::sqrt(squares), std::abs(slopes.best()), 1e-3,
                             1e-3 * slopes.size});
    bool at_kink = std::abs(slopes.coarse - slopes.fine) > 3e-6 * scale;
    if (at_kink) continue;
    EXPECT_NEAR(slopes.best() / scale, expected / scale, 1e-6);
    return;
  }
  FAIL() << "three directions cross kinks";
}

INSTANTIATE_TEST_SUITE_P(Rows, FiniteDifferences,
                         testing::ValuesIn(smooth_rows()), row_name);

}  // namespace
}  // namespace braid::parity
