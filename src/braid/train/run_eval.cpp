// Evaluation within a run: values, the best so far, early stopping.
#include "braid/passes/names.h"
#include "braid/train/metrics.h"
#include "braid/train/run.h"

namespace braid::train {
namespace {

bool higher(const EarlyStopConfig& config) {
  return config.mode == "auto" ? higher_is_better(config.metric)
                               : config.mode == "max";
}

}  // namespace

bool Run::is_eval_due() const {
  int64_t every = job_.config().eval.every;
  if (every == 0) every = job_.steps_per_epoch();
  bool is_last = record_.step == job_.num_steps();
  return job_.has_eval() && (record_.step % every == 0 || is_last);
}

bool Run::is_stopped_early() const {
  int64_t patience = job_.config().eval.early_stop.patience;
  return patience > 0 && record_.early_stop.worse >= patience;
}

// Once per step, whoever asks.
void Run::evaluate() {
  if (!job_.has_eval() || record_.last_eval == record_.step) return;
  io::TraceSpan span(trace_.get(), "eval", "eval", "evaluation");
  std::map<std::string, double> values = evaluate_all();
  record_.last_eval = record_.step;
  evaluation_.assign(values.begin(), values.end());
  if (files_) {
    files_->add({.step = record_.step,
                 .epoch = epoch(),
                 .time_s = elapsed(),
                 .split = "eval",
                 .values = evaluation_});
  }
  if (options_.listener) options_.listener->on_eval(record_.step, evaluation_);
  if (observe(values)) save_checkpoint();
}

// Whether it is the best so far.
bool Run::observe(const std::map<std::string, double>& values) {
  const EarlyStopConfig& stop = job_.config().eval.early_stop;
  std::string metric = job_.config().checkpoint.best;
  if (metric.empty()) metric = "loss";
  record_.early_stop.observe(values.at(stop.metric), record_.step, higher(stop),
                             stop.min_delta);
  bool is_best = record_.best.observe(values.at(metric), record_.step,
                                      higher_is_better(metric));
  if (is_stopped_early()) {
    say(LogLevel::kInfo, fmt::format("stopped early: {} was best at step {}",
                                     stop.metric, record_.early_stop.step));
  }
  return is_best;
}

std::map<std::string, double> Run::evaluate_all() {
  swap_averages();
  MetricSums sums(job_.model().metrics());
  eval_loader_->seek({});
  while (const data::Batch* batch = eval_loader_->next()) {
    bool is_rest = batch->rows != job_.eval_rows();
    BatchFeed& feed = is_rest ? *eval_rest_feed_ : *eval_feed_;
    const Job::Places& places = job_.places();
    runtime::Executor& executor =
        programs_->executor(is_rest ? places.eval_rest : places.eval);
    feed.set(*batch, 0);
    executor.step(
        [&](int64_t micro, ValueId input) { return feed.at(micro, input); });
    sums.add(executor, batch->rows);
  }
  swap_averages();
  return sums.values();
}

// Averaged weights are what is evaluated where there are some.
void Run::swap_averages() {
  runtime::State& state = programs_->state();
  for (size_t i = 0; i < state.slots().size(); ++i) {
    const Slot& slot = state.slots()[i];
    if (slot.role != Role::kParameter) continue;
    SlotId average = state.find(passes::state_slot("ema", slot));
    if (average == kNone) continue;
    auto id = static_cast<SlotId>(i);
    std::vector<std::byte> weights = state.read(id);
    state.write(id, state.read(average));
    state.write(average, weights);
  }
}

}  // namespace braid::train
