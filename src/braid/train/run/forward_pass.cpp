#include "braid/train/run/forward_pass.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/train/run/threads.h"

namespace braid::train {
namespace {

runtime::Budget budget_of(const JobConfig& config) {
  return {.bytes = config.memory_limit.value_or(kNoLimit),
          .cores = thread_count(config.threads, "job")};
}

// A file with fixed sizes does not have what the last batch needs.
Graph build_rest(const ForwardPass::Build& build, int64_t rows) {
  try {
    return build(rows);
  } catch (const std::exception& error) {
    ErrorParts parts = parts_of(error);
    parts.hint = fmt::format(
        "the last batch has {} rows; choose a --batch-size that divides the "
        "samples, take the first of them with --limit, or export with a "
        "dynamic batch",
        rows);
    throw UsageError(std::move(parts));
  }
}

}  // namespace

int64_t forward_rows(const JobConfig& config, const data::Dataset& data) {
  return std::min(config.eval.batch_size.value_or(config.batch_size),
                  data.size());
}

ForwardPass::ForwardPass(const runtime::Machine& machine,
                         const JobConfig& config, const JobModel& model,
                         data::DatasetPtr data, const Build& build,
                         const InitFile& weights)
    : data_(std::move(data)),
      batch_rows_(forward_rows(config, *data_)),
      backend_(machine.open(parse_device(config.device), budget_of(config))) {
  std::vector<compile::StepSpec> specs;
  auto add = [&](int64_t rows, Graph graph) {
    by_rows_[rows] = specs.size();
    specs.push_back({.forward = std::move(graph),
                     .precision = *find_dtype(config.precision),
                     .name = fmt::format("forward of {} rows", rows)});
  };
  add(batch_rows_, build(batch_rows_));
  int64_t rest = data_->size() % batch_rows_;
  if (rest > 0) add(rest, build_rest(build, rest));
  programs_ = std::make_unique<runtime::Executables>(
      machine.ops(), specs, *backend_,
      runtime::ExecutableOptions{.threads =
                                     thread_count(config.threads, "job")});
  model.load_weights(programs_->state(), weights);
  JobData fields{.train = data_, .eval = nullptr, .inputs = config.inputs};
  for (size_t i = 0; i < programs_->size(); ++i) {
    feeds_.push_back(std::make_unique<BatchFeed>(fields, config,
                                                 programs_->program(i).graph));
  }
}

bool ForwardPass::run(const Visit& visit) {
  data::Loader loader(
      data_, {.batch_size = batch_rows_, .shuffle = false, .repeat = false});
  while (const data::Batch* batch = loader.next()) {
    size_t program = by_rows_.at(batch->rows);
    BatchFeed& feed = *feeds_[program];
    feed.set(*batch, 0);
    runtime::Executor& executor = programs_->executor(program);
    executor.step(
        [&](int64_t micro, ValueId input) { return feed.at(micro, input); });
    if (!visit(executor, *batch)) return false;
  }
  return true;
}

}  // namespace braid::train
