#include "braid/train/trainer.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/train/job/model_state.h"

namespace braid::train {
namespace {

void check_schedules(const TrainerOptions& options) {
  auto count = static_cast<size_t>(std::max<int64_t>(options.members, 1));
  if (options.schedules.empty()) return;
  if (options.schedules.size() != count) {
    fail_usage("[schedule] expected {} schedules, got {}", count,
               options.schedules.size());
  }
  for (const passes::Schedule& s : options.schedules) {
    passes::validate(s);
    if (!passes::needs_length(s)) continue;
    fail_usage(
        "[schedule] '{}' depends on the length of a run\n"
        "HINT: passes::for_length(schedule, steps) tells it",
        passes::schedule_text(s));
  }
}

runtime::ExecutableOptions executable_options(const TrainerOptions& options) {
  return {.threads = options.threads,
          .capture = options.capture,
          .plan = {.plan = options.plan,
                   .named = {},
                   .fit_to_limit = options.fit_to_limit},
          .profile = options.profile,
          .lowering = options.lowering,
          .spill_dir = options.spill_dir};
}

compile::StepSpec step_spec(Graph forward, const TrainerOptions& options) {
  passes::Optimizer optimizer = options.optimizer;
  optimizer.scheduled = !options.schedules.empty();
  optimizer.plateau =
      std::ranges::any_of(options.schedules, passes::watches_loss);
  return {.forward = std::move(forward),
          .optimizer = std::move(optimizer),
          .micro_batches = options.micro_batches,
          .capacity = options.members,
          .shared_inputs = options.shared_inputs,
          .precision = options.precision};
}

}  // namespace

Trainer::Trainer(const OpTable& ops, Graph forward, runtime::Backend& backend,
                 TrainerOptions options)
    : options_(std::move(options)) {
  start(ops, step_spec(std::move(forward), options_), backend);
}

Trainer::Trainer(const OpTable& ops, std::vector<Graph> members,
                 runtime::Backend& backend, TrainerOptions options)
    : options_(std::move(options)) {
  compile::StepSpec spec = step_spec(Graph(ops), options_);
  spec.members = std::move(members);
  start(ops, std::move(spec), backend);
}

void Trainer::start(const OpTable& ops, compile::StepSpec spec,
                    runtime::Backend& backend) {
  check_schedules(options_);
  std::vector<compile::StepSpec> specs;
  specs.push_back(std::move(spec));
  programs_ = std::make_unique<runtime::Executables>(
      ops, specs, backend, executable_options(options_));
  if (!options_.schedules.empty()) {
    rates_ = std::make_unique<LearningRates>(options_.schedules, state());
  }
}

void Trainer::initialise(const std::vector<int64_t>& seeds) {
  state().initialise(seeds);
}

void Trainer::set_hyper(int64_t member, const std::string& name, double value) {
  if (name == "momentum" && value != 0 && !options_.optimizer.has("momentum")) {
    fail_usage("[member] momentum {} needs an optimizer with momentum", value);
  }
  train::set_hyper(state(), member, name, value);
}

}  // namespace braid::train
