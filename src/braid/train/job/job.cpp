#include "braid/train/job/job.h"

#include <algorithm>
#include <limits>

#include "braid/base/error.h"
#include "braid/train/run/threads.h"

namespace braid::train {
namespace {

JobConfig resolved(JobConfig config, const JobHooks& hooks) {
  if (hooks.given) return config;
  config = with_hooks(std::move(config), hooks);
  config.validate();
  thread_count(config.threads, "job");  // before anything is opened
  resolve_data_paths(config);
  return config;
}

JobData data_of(const JobConfig& config, const JobHooks& hooks) {
  if (!hooks.given) return open_data(config, hooks);
  return {.train = hooks.train, .eval = nullptr, .inputs = {}};
}

int64_t steps_of(const JobConfig& config, int64_t per_epoch) {
  if (config.steps) return *config.steps;
  int64_t epochs = config.epochs.value_or(0);
  int64_t most = std::numeric_limits<int64_t>::max() / per_epoch;
  if (epochs <= most) return epochs * per_epoch;
  fail_usage("[job] expected at most {} epochs of {} steps, got {}", most,
             per_epoch, epochs);
}

// A graph for another number of rows than that of a full batch, which a file
// with fixed sizes does not have.
template <class Build>
compile::StepSpec for_rest(int64_t rows, std::string_view way_out,
                           const Build& build) {
  try {
    return build();
  } catch (const std::exception& error) {
    ErrorParts parts = parts_of(error);
    parts.hint = fmt::format(
        "the last batch of an epoch has {} rows; {}, or export with a dynamic "
        "batch",
        rows, way_out);
    throw UsageError(std::move(parts));
  }
}

}  // namespace

Job::Job(const runtime::Machine& machine, JobConfig config, JobHooks hooks)
    : machine_(machine),
      config_(resolved(std::move(config), hooks)),
      data_(data_of(config_, hooks)),
      model_(std::make_unique<JobModel>(machine, config_, data_, hooks)),
      best_by_(train::best_by(config_, model_->metrics())),
      stops_by_(train::stops_by(config_, model_->metrics())) {
  if (!hooks.datasets || hooks.datasets->is_new(data_key())) {
    checks_ = check_data(kQuickCheck);
  }
  count_steps();
  std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin_;
  open_s_ = took.count();
}

Job::DataChecks Job::check_data(const CheckLimits& limits) const {
  auto argument = [this](const std::string& field) {
    return data_.argument(field);
  };
  // With `on_nan: skip` a training passes over such samples; an evaluation
  // cannot.
  bool skips = config_.on_nan == "skip";
  DataChecks checks;
  checks.train = check_values(*data_.train, model_->inputs(), argument,
                              config_.data.allow_nan ? NonFinite::kAllow
                              : skips                ? NonFinite::kNote
                                                     : NonFinite::kRefuse,
                              limits);
  if (!has_eval()) return checks;
  const DataConfig& eval = config_.eval.data.value_or(config_.data);
  checks.eval = check_values(
      *data_.eval, model_->inputs(), argument,
      eval.allow_nan ? NonFinite::kAllow : NonFinite::kRefuse, limits);
  return checks;
}

// Tells jobs apart whose data have to be looked at each.
std::string Job::data_key() const {
  std::string key =
      fmt::format("{} {} {} {} {}", static_cast<const void*>(data_.train.get()),
                  static_cast<const void*>(data_.eval.get()), config_.on_nan,
                  config_.data.allow_nan,
                  config_.eval.data.value_or(config_.data).allow_nan);
  for (const auto& [field, argument] : data_.inputs) {
    key += fmt::format(" {}:{}={}:{}", field.size(), field, argument.size(),
                       argument);
  }
  for (const auto& [name, range] : model_->inputs()) {
    key += fmt::format(" {}:{}", name.size(), name);
    if (!range) continue;
    key += fmt::format("<{}", range->size);
    if (range->ignored) key += fmt::format(" but {}", *range->ignored);
  }
  return key;
}

void Job::count_steps() {
  int64_t size = data_.train->size(), batch = config_.batch_size;
  if (config_.drop_last && size < batch) {
    fail_usage(
        "[job] a batch of {} is larger than the data ({} samples of {})\n"
        "HINT: lower batch_size, or set 'drop_last: false'",
        batch, size, data_.train->name());
  }
  int64_t full = size / batch, rest = size % batch;
  if (config_.drop_last) rest = 0;
  steps_per_epoch_ = full + (rest > 0 ? 1 : 0);
  num_steps_ = steps_of(config_, steps_per_epoch_);
  if (num_steps_ > full) rest_rows_ = rest;
  if (!has_eval()) return;
  int64_t eval_size = data_.eval->size();
  eval_rows_ = std::min(config_.eval.batch_size.value_or(batch), eval_size);
  eval_rest_rows_ = eval_size % eval_rows_;
}

// A phase counts its own updates, which may be fewer than the run's steps.
std::optional<passes::Schedule> Job::schedule(size_t network) const {
  const auto& schedule = model_->networks()[network].schedule;
  if (!schedule) return std::nullopt;
  int64_t updates = 0;
  for (const JobPhase& phase : model_->phases()) {
    if (phase.network != network) continue;
    updates += (num_steps_ + phase.every - 1) / phase.every;
  }
  return passes::for_length(*schedule, updates);
}

std::optional<double> Job::num_epochs() const {
  if (config_.steps || !config_.epochs) return std::nullopt;
  return static_cast<double>(*config_.epochs);
}

int64_t Job::micro_batches(int64_t rows) const {
  int64_t most = config_.batch_size / config_.accumulate;
  int64_t fewest = (rows + most - 1) / most, parts = fewest;
  while (rows % parts != 0) ++parts;
  if (rows / parts >= most / 2 || parts == fewest) return parts;
  while (rows % fewest != 0) --fewest;
  return fewest;
}

std::vector<int64_t> Job::step_row_counts() const {
  std::vector<int64_t> counts{batch_rows()};
  if (rest_rows_ > 0) counts.push_back(rest_rows_);
  return counts;
}

std::vector<int64_t> Job::eval_row_counts() const {
  std::vector<int64_t> counts;
  if (has_eval()) counts.push_back(eval_rows_);
  if (eval_rest_rows_ > 0) counts.push_back(eval_rest_rows_);
  return counts;
}

compile::StepSpec Job::step_spec(size_t phase, int64_t rows) const {
  const JobNetwork& network =
      model_->networks()[model_->phases()[phase].network];
  int64_t parts = micro_batches(rows);
  passes::Optimizer optimizer = network.optimizer;
  optimizer.scheduled = network.schedule.has_value();
  optimizer.plateau =
      network.schedule && passes::watches_loss(*network.schedule);
  auto make = [&]() -> compile::StepSpec {
    return {.forward = model_->forward(phase, rows / parts),
            .optimizer = optimizer,
            .micro_batches = parts,
            .precision = *find_dtype(config_.precision),
            .name = step_name(phase, rows)};
  };
  if (rows == batch_rows()) return make();
  return for_rest(rows, "set 'drop_last: true'", make);
}

compile::StepSpec Job::eval_spec(int64_t rows) const {
  auto make = [&]() -> compile::StepSpec {
    return {.forward = model_->eval(rows),
            .precision = *find_dtype(config_.precision),
            .name = fmt::format("evaluation of {} rows", rows)};
  };
  if (rows == eval_rows_) return make();
  return for_rest(rows, "set 'eval.limit' to a multiple of the batch", make);
}

// For dumps: "step of 64 rows", or with the phase where there are several.
std::string Job::step_name(size_t phase, int64_t rows) const {
  std::string of_phase =
      config_.phases.empty()
          ? ""
          : fmt::format(" of {}", config_.phases[phase].learns);
  return fmt::format("step{} of {} rows", of_phase, rows);
}

data::LoaderOptions Job::loader_options() const {
  return {.batch_size = batch_rows(),
          .drop_last = config_.drop_last,
          .shuffle = config_.data.shuffle,
          .shuffle_block = config_.data.shuffle_block.value_or(0),
          .shuffle_window = config_.data.shuffle_window.value_or(
              data::LoaderOptions().shuffle_window),
          .seed = config_.data_seed()};
}

int Job::threads() const { return thread_count(config_.threads, "job"); }

DeviceId Job::device() const { return parse_device(config_.device); }

runtime::Budget Job::budget() const {
  return {.bytes = config_.memory_limit.value_or(kNoLimit),
          .cores = threads(),
          .host_bytes = config_.host_limit.value_or(kNoLimit)};
}

std::unique_ptr<runtime::Backend> Job::open_device() const {
  return machine_.open(device(), budget());
}

}  // namespace braid::train
