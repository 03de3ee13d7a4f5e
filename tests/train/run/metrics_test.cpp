#include "braid/train/run/metrics.h"

#include <gtest/gtest.h>

#include "braid/graph/verify.h"
#include "passes/model_steps.h"
#include "passes/text_graphs.h"
#include "thrown.h"

namespace braid::train {
namespace {

using passes::graph_of;
using Names = std::vector<std::string>;

Graph model(const std::string& text) {
  return models::build_with_outputs(table(), text, DType::kFloat32);
}

Graph regression() {
  return graph_of(R"(
    input %0 "x" f32[4]
    input %1 "y" f32[4]
    %2: f32[] = mse_loss(%0, %1)
    %3: f32[] = neg(%2)
    %4: i64[] = to(%2) {dtype="i64"}
    output "loss" %2
    output "minus" %3
    output "x" %0
    output "whole" %4
  )");
}

std::string problem_of(Graph graph, const Names& names) {
  return thrown_by([&] { add_metric_outputs(graph, names); });
}

TEST(Metrics, WhatSuitsTheModel) {
  EXPECT_EQ(default_metrics(model(small_models()[0])),
            (Names{"loss", "accuracy"}));
  EXPECT_EQ(default_metrics(model(small_models()[3])),
            (Names{"loss", "perplexity"}));
  EXPECT_EQ(default_metrics(regression()), Names{"loss"});
}

TEST(Metrics, NamesThatAreNotMadeHereAreOutputs) {
  EXPECT_EQ(metric_outputs({"loss", "accuracy", "minus", "top5", "perplexity"}),
            Names{"minus"});
  EXPECT_TRUE(higher_is_better("accuracy"));
  EXPECT_TRUE(higher_is_better("top5"));
  EXPECT_FALSE(higher_is_better("loss"));
  EXPECT_FALSE(higher_is_better("perplexity"));
  EXPECT_FALSE(higher_is_better("minus"));
}

TEST(Metrics, OutputsAreAddedForWhatIsAsked) {
  Graph graph = model(small_models()[0]);
  size_t before = graph.outputs().size();
  add_metric_outputs(graph, {"loss", "perplexity"});
  EXPECT_EQ(graph.outputs().size(), before + 1);  // how many targets there are
  verify(graph);
  graph = model(small_models()[0]);
  add_metric_outputs(graph, {"accuracy"});
  EXPECT_EQ(graph.outputs().size(), before + 3);
  verify(graph);
  graph = regression();
  before = graph.outputs().size();
  add_metric_outputs(graph, {"loss"});
  EXPECT_EQ(graph.outputs().size(), before);
}

TEST(Metrics, AccuracyNeedsClasses) {
  for (const char* name : {"accuracy", "top5"}) {
    EXPECT_EQ(problem_of(regression(), {name}),
              "[metrics] accuracy and top5 need a loss over classes\n"
              "HINT: losses over classes are cross_entropy and nll");
  }
}

TEST(Metrics, AnOutputIsOneFloat) {
  EXPECT_EQ(problem_of(regression(), {"minus"}), "");
  EXPECT_EQ(problem_of(regression(), {"x"}),
            "[metrics] output 'x' is f32[4], expected one float");
  EXPECT_EQ(problem_of(regression(), {"whole"}),
            "[metrics] output 'whole' is i64[], expected one float");
}

TEST(Metrics, AnUnknownNameIsAnError) {
  EXPECT_EQ(problem_of(regression(), {"acuracy"}),
            "[metrics] the model has no output 'acuracy'\n"
            "HINT: did you mean 'accuracy'?");
  EXPECT_EQ(problem_of(regression(), {"minos"}),
            "[metrics] the model has no output 'minos'\n"
            "HINT: did you mean 'minus'?");
}

}  // namespace
}  // namespace braid::train
