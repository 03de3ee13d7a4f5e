// What is added to a model's eval form so that metrics can be counted from its
// outputs, batch by batch.
#pragma once

#include <string>
#include <vector>

#include "braid/graph/graph.h"
#include "braid/train/job/metric_kinds.h"

namespace braid::train {

// Names of the outputs that are added.
inline constexpr const char* kWeightOutput = "metric/weight";  // of the loss
inline constexpr const char* kCountOutput = "metric/count";    // of targets
inline constexpr const char* kCorrectOutput = "metric/correct";
// With the number: "metric/correct5".
std::string top_output(int64_t count);
// Of decisions, [M] for M targets: -1 where one is ignored, or nothing was
// decided.
inline constexpr const char* kTargetOutput = "metric/target";
inline constexpr const char* kTakenOutput = "metric/taken";
// f64[M, C], or f64[M] where there are two classes.
inline constexpr const char* kScoresOutput = "metric/scores";
// Numbers that the loss compares, f64[N, D].
inline constexpr const char* kPredictedOutput = "metric/predicted";
inline constexpr const char* kTrueOutput = "metric/true";

// The names of outputs that a model must keep for these metrics.
std::vector<std::string> metric_outputs(const std::vector<std::string>& names);

// "loss" and what suits the model: "accuracy" of classes, "perplexity" of
// tokens.
std::vector<std::string> default_metrics(const Graph& eval);

// Tables of an evaluation besides its metrics.
inline constexpr const char* kClassTable = "classes";
inline constexpr const char* kConfusionTable = "confusion";

// Adds the outputs that these metrics and tables are counted from. Throws when
// the model's loss does not compare what they need, or an output is not one
// number.
void add_metric_outputs(Graph& eval, const std::vector<std::string>& names,
                        const std::vector<std::string>& tables = {});

// That the model's loss is over; two for a binary cross entropy, 0 when it is
// over none.
int64_t num_classes(const Graph& eval);

}  // namespace braid::train
