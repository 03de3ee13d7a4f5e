// Values of metrics on real kernels, against numbers counted by hand.
#include "braid/train/run/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/forward_run.h"
#include "kernels.h"
#include "passes/text_graphs.h"

namespace braid::train {
namespace {

using passes::graph_of;
using Names = std::vector<std::string>;

// Scores [N, 7] with a loss over classes.
std::string classes(int64_t rows) {
  return fmt::format(R"(
    input %0 "scores" f32[{0}, 7]
    input %1 "target" i64[{0}]
    %2: f32[], %3: f32[{0}], %4: f32[] = cross_entropy_loss(%0, %1)
    %5: f32[] = mul_scalar(%2) {{value=10.0}}
    output "loss" %2
    output "ten" %5
  )",
                     rows);
}

struct Batch {
  std::vector<std::vector<float>> scores;
  std::vector<int64_t> targets;
};

// Runs one evaluation per batch, each with a program for its rows.
std::map<std::string, double> measure(const Names& names,
                                      const std::vector<Batch>& batches) {
  runtime::CpuBackend backend(kernels(), {});
  MetricSums sums(names, 7);
  for (const Batch& batch : batches) {
    auto rows = static_cast<int64_t>(batch.targets.size());
    Graph graph = graph_of(classes(rows));
    add_metric_outputs(graph, names);
    runtime::ForwardRun run(table(), graph, backend);
    std::vector<float> flat;
    for (const auto& row : batch.scores) {
      flat.insert(flat.end(), row.begin(), row.end());
    }
    run.executor().step([&](int64_t, ValueId input) {
      return run.graph().value(input).name == "scores"
                 ? reinterpret_cast<const std::byte*>(flat.data())
                 : reinterpret_cast<const std::byte*>(batch.targets.data());
    });
    sums.add(run.executor(), rows);
  }
  return sums.values();
}

const std::vector<float> kFalling{7, 6, 5, 4, 3, 2, 1};

TEST(MetricValues, AccuracyAndTop5CountTargets) {
  Batch batch{{kFalling, kFalling, kFalling, kFalling}, {0, 1, 4, 5}};
  auto values = measure({"accuracy", "top5"}, {batch});
  EXPECT_EQ(values.at("accuracy"), 0.25);
  EXPECT_EQ(values.at("top5"), 0.75);
}

TEST(MetricValues, IgnoredTargetsDoNotCount) {
  Batch batch{{kFalling, kFalling, kFalling}, {0, -100, 6}};
  auto values = measure({"accuracy", "top5"}, {batch});
  EXPECT_EQ(values.at("accuracy"), 0.5);
  EXPECT_EQ(values.at("top5"), 0.5);
}

// Five scores above is out, a tie with the fifth is in.
TEST(MetricValues, TiesCountForTheTarget) {
  Batch tied{{{7, 6, 5, 4, 3, 3, 3}, {7, 6, 5, 4, 3, 3, 3}}, {6, 4}};
  EXPECT_EQ(measure({"top5"}, {tied}).at("top5"), 1);
  Batch out{{{7, 6, 5, 4, 3, 2, 2}}, {6}};
  EXPECT_EQ(measure({"top5"}, {out}).at("top5"), 0);
}

TEST(MetricValues, ScoresThatAreNoNumbersAreNeverRight) {
  std::vector<float> nan(7, NAN);
  Batch batch{{nan, nan, nan}, {0, 3, 6}};
  auto values = measure({"accuracy", "top5"}, {batch});
  EXPECT_EQ(values.at("top5"), 0);
  EXPECT_EQ(values.at("accuracy"), 0);
}

// Such a row is a target that was not found, and no decision for a class.
TEST(MetricValues, ScoresThatAreNoNumbersDecideNothing) {
  std::vector<float> nan(7, NAN);
  Batch batch{{nan, kFalling, kFalling}, {0, 0, 2}};
  auto values = measure(
      {"recall_micro", "precision_micro", "precision_macro", "auc", "top9"},
      {batch});
  EXPECT_DOUBLE_EQ(values.at("recall_micro"), 1 / 3.0);
  EXPECT_DOUBLE_EQ(values.at("precision_micro"), 0.5);
  EXPECT_DOUBLE_EQ(values.at("precision_macro"), 0.25);
  EXPECT_DOUBLE_EQ(values.at("top9"), 2 / 3.0);
  EXPECT_TRUE(std::isnan(values.at("auc")));
}

TEST(MetricValues, WithoutAnyTargetThereIsNoValue) {
  Batch batch{{kFalling, kFalling}, {-100, -100}};
  auto values = measure({"f1_macro", "auc", "accuracy", "top3"}, {batch});
  for (const auto& [name, value] : values) {
    EXPECT_TRUE(std::isnan(value)) << name;
  }
}

double loss_of(const std::vector<float>& scores, int64_t target) {
  double sum = 0;
  for (float score : scores) sum += std::exp(double{score});
  return std::log(sum) - double{scores[static_cast<size_t>(target)]};
}

TEST(MetricValues, LossesAndOutputsAreWeighedByRows) {
  Batch full{{kFalling, kFalling, kFalling}, {0, 1, 2}}, rest{{kFalling}, {6}};
  auto values = measure({"loss", "perplexity", "ten"}, {full, rest});
  double mean = 0;
  for (int64_t target : {0, 1, 2, 6}) mean += loss_of(kFalling, target) / 4;
  EXPECT_NEAR(values.at("loss"), mean, 1e-6);
  EXPECT_NEAR(values.at("perplexity"), std::exp(mean), 1e-4);
  EXPECT_NEAR(values.at("ten"), 10 * mean, 1e-5);
  EXPECT_EQ(values.size(), 3u);
}

TEST(MetricValues, AccuracyIsOverAllTargetsNotOverBatches) {
  Batch full{{kFalling, kFalling, kFalling}, {0, 0, 0}}, rest{{kFalling}, {6}};
  EXPECT_EQ(measure({"accuracy"}, {full, rest}).at("accuracy"), 0.75);
}

}  // namespace
}  // namespace braid::train
