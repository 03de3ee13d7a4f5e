#include "braid/train/run/evaluation.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/train/run/metric_outputs.h"
#include "braid/train/run/metrics.h"
#include "braid/train/run/threads.h"

namespace braid::train {
namespace {

// What other metrics are counted from is left out.
bool suits(Graph eval, const std::string& metric) {
  std::erase_if(eval.outputs(), [](const Output& output) {
    return output.name.starts_with("metric/");
  });
  try {
    add_metric_outputs(eval, {metric});
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

// The job's own first, in its order.
std::vector<std::string> with_suitable(std::vector<std::string> metrics,
                                       const Graph& eval) {
  for (const std::string& name : suitable_metrics(eval)) {
    if (std::ranges::find(metrics, name) == metrics.end()) {
      metrics.push_back(name);
    }
  }
  return metrics;
}

}  // namespace

JobConfig for_saved_weights(JobConfig config, const JobHooks& hooks) {
  config = with_hooks(std::move(config), hooks);
  config.eval.early_stop = {};
  config.eval.tables.clear();
  config.checkpoint.best.clear();
  JobConfig checked = config;
  if (checked.eval.data) checked.data.split.reset();
  checked.validate();
  thread_count(config.threads, "job");
  if (!config.phases.empty()) {
    fail_usage(
        "[weights] several networks have no outputs to look at\n"
        "HINT: 'braid export --network NAME' gives the weights of one");
  }
  resolve_data_paths(config);
  return config;
}

std::vector<std::string> suitable_metrics(const Graph& eval) {
  // What is said of classes needs targets that are classes: a binary cross
  // entropy may have others. The exponential of another loss means nothing.
  std::vector<std::string> names;
  bool has_classes = suits(eval, "accuracy");
  for (const MetricKind& kind : metric_kinds()) {
    bool is_of_classes =
        kind.name != "loss" && kind.source != MetricSource::kNumbers;
    if (is_of_classes && !has_classes) continue;
    if (suits(eval, kind.name)) names.push_back(kind.name);
  }
  return names;
}

Evaluation::Evaluation(const runtime::Machine& machine, JobConfig config,
                       const JobHooks& shared)
    : machine_(machine),
      config_(for_saved_weights(std::move(config), shared)),
      data_(open_data(config_, shared)) {
  if (!data_.eval) {
    fail_usage(
        "[eval] the job has no data to evaluate\n"
        "HINT: name some, as --data source=csv file=test.csv");
  }
  model_ = std::make_unique<JobModel>(machine, config_, data_, shared);
  if (config_.eval.metrics.empty()) {
    config_.eval.metrics = with_suitable(
        model_->metrics(), model_->eval(forward_rows(config_, *data_.eval)));
    model_ = std::make_unique<JobModel>(machine, config_, data_, shared);
  }
  const DataConfig& eval = config_.eval.data.value_or(config_.data);
  check_values(
      *data_.eval, model_->inputs(),
      [this](const std::string& field) { return data_.argument(field); },
      eval.allow_nan ? NonFinite::kAllow : NonFinite::kRefuse, kQuickCheck);
}

std::optional<io::Scalars> Evaluation::run(const InitFile& weights,
                                           const std::function<bool()>& stop) {
  ForwardPass pass(
      machine_, config_, *model_, data_.eval,
      [this](int64_t rows) { return model_->eval(rows); }, weights);
  MetricSums sums(model_->metrics(), model_->num_classes());
  bool is_whole = pass.run(
      [&](const runtime::Executor& executor, const data::Batch& batch) {
        sums.add(executor, batch.rows);
        return !stop || !stop();
      });
  if (!is_whole) return std::nullopt;
  std::map<std::string, double> values = sums.values();
  io::Scalars scalars{{"loss", values.at("loss")}};
  for (const std::string& name : model_->metrics()) {
    if (name != "loss") scalars.emplace_back(name, values.at(name));
  }
  return scalars;
}

}  // namespace braid::train
