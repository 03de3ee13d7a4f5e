#include "braid/train/run/prediction.h"

#include <fmt/ranges.h>

#include "braid/base/error.h"
#include "braid/ops/build/functions.h"
#include "braid/train/run/evaluation.h"

namespace braid::train {
namespace {

constexpr const char* kTopClass = "class";

JobConfig for_prediction(JobConfig config) {
  config.eval.metrics.clear();
  return for_saved_weights(std::move(config), {});
}

// The only output, scores [N, C], becomes its highest ones; gives C.
int64_t keep_top(Graph& graph, int64_t top) {
  std::vector<std::string> names;
  for (const Output& output : graph.outputs()) names.push_back(output.name);
  if (names.size() != 1) {
    fail_usage(
        "[predict] --top is of one output, and there are {}\n"
        "HINT: choose one, as --output {}",
        fmt::join(names, ", "), names[0]);
  }
  Var scores{&graph, graph.outputs()[0].value};
  if (scores.rank() != 2 || !is_floating(scores.dtype())) {
    Shape shape(scores.shape().begin() + 1, scores.shape().end());
    fail_usage("[predict] --top is of scores of classes, and '{}' is {}{}",
               names[0], dtype_name(scores.dtype()), shape_text(shape));
  }
  int64_t classes = scores.shape()[1];
  if (top > classes) {
    fail_usage("[predict] --top {}: there are {} classes", top, classes);
  }
  Picked best = topk(scores, top, 1);
  graph.outputs() = {{kTopClass, best.indices.id}, {"score", best.values.id}};
  return classes;
}

}  // namespace

Prediction::Prediction(const runtime::Machine& machine, JobConfig config,
                       const PredictionOptions& options,
                       const InitFile& weights, const JobHooks& shared)
    : machine_(machine), config_(for_prediction(std::move(config))) {
  open(options, shared);
  model_ = std::make_unique<JobModel>(
      machine_, config_, reference_,
      JobHooks{.learns = false, .models = shared.models});
  pass_ = std::make_unique<ForwardPass>(
      machine_, config_, *model_, data_,
      [&](int64_t rows) {
        Graph graph = model_->outputs(rows, options.output);
        bool is_first = rows == forward_rows(config_, *data_);
        if (is_first) check_inputs(graph, rows, options.data.allow_nan);
        if (options.top > 0) num_ranked_ = keep_top(graph, options.top);
        return graph;
      },
      weights);
  note_outputs();
}

void Prediction::note_outputs() {
  for (const Output& output : pass_->graph().outputs()) {
    const ValueType& type = pass_->graph().value(output.value).type;
    outputs_.push_back({output.name, type.dtype,
                        Shape(type.shape.begin() + 1, type.shape.end())});
    if (num_ranked_ == 0 || output.name != kTopClass) continue;
    outputs_.back().names = class_names(*reference_.train, num_ranked_);
  }
}

void Prediction::open(const PredictionOptions& options,
                      const JobHooks& shared) {
  reference_ = {.train = open_unchanged(config_, config_.data, shared),
                .eval = nullptr,
                .inputs = config_.inputs};
  data_ = open_unchanged(config_, options.data, shared,
                         &reference_.train->fields());
  if (options.limit > 0) data_ = data::first_samples(data_, options.limit);
}

// Those that the outputs are made of; what only a loss reads may be anything.
void Prediction::check_inputs(const Graph& graph, int64_t rows,
                              bool allows_nan) const {
  JobData data{.train = data_, .eval = nullptr, .inputs = config_.inputs};
  check_arguments(data, graph, rows, {});
  std::vector<std::string> fields;
  for (const data::Field& field : data_->fields()) {
    bool is_read = graph.find_input(data.argument(field.name)) != kNone;
    if (is_read) fields.push_back(field.name);
  }
  check_same_classes(*reference_.train, *data_, fields);
  check_same_tables(*reference_.train, *data_);
  ModelInputs inputs;
  add_inputs(inputs, graph);
  check_values(
      *data_, inputs,
      [&](const std::string& field) { return data.argument(field); },
      allows_nan ? NonFinite::kAllow : NonFinite::kRefuse, kQuickCheck);
}

bool Prediction::run(const Visit& visit) {
  return pass_->run(
      [&](const runtime::Executor& executor, const data::Batch& batch) {
        Rows rows;
        for (const PredictedOutput& output : outputs_) {
          rows.push_back(executor.output(output.name));
        }
        return visit(batch, rows);
      });
}

}  // namespace braid::train
