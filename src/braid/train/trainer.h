// Trainer: one model or one array of members, ready to step. It runs the
// passes, compiles the plan, owns State and Executor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "braid/ops/op.h"
#include "braid/passes/optimizer.h"
#include "braid/passes/schedule.h"
#include "braid/runtime/executor.h"
#include "braid/train/learning_rates.h"

namespace braid::train {

struct TrainerOptions {
  passes::Optimizer optimizer;
  // Of the learning rates: one per member, or none at all.
  std::vector<passes::Schedule> schedules = {};
  int64_t members = 0;                          // 0: one model, no member axis
  std::vector<std::string> shared_inputs = {};  // one minibatch for all
  int64_t micro_batches = 1;
  DType precision = DType::kFloat32;  // of the work; or bf16, see precision.h
  plan::Plan plan = {};               // empty: everything stays on the device
  // Try plans that take less and less device memory until one fits the
  // device's limit. Used when `plan` is empty.
  bool fit_to_limit = true;
  int threads = 1;
  bool capture = true;
};

// Names of the segments that a plan for this model decides about.
std::vector<std::string> segment_names(const Graph& forward);

class Trainer {
 public:
  // `forward` has an output "loss". Borrows the table and the backend.
  Trainer(const OpTable& ops, Graph forward, runtime::Backend& backend,
          TrainerOptions options);

  // One seed per member.
  void initialise(const std::vector<int64_t>& seeds);

  // One step; see runtime::Executor. With schedules, each member's rates are
  // those of its own step.
  void step(const runtime::Executor::Feed& feed) {
    if (rates_) rates_->before_step();
    executor_->step(feed);
    if (rates_) rates_->after_step(losses());
  }
  // Loss of the last step, per member.
  const std::vector<double>& losses() const { return executor_->losses(); }

  // Sets a hyper-parameter of a member: "lr", or "dropout" for all its
  // dropout layers. Unknown names are errors. With schedules, "lr" is the base
  // that they start from.
  void set_hyper(int64_t member, const std::string& name, double value);

  const Graph& graph() const { return program_->graph; }
  const plan::Program& program() const { return *program_; }
  const plan::Plan& plan() const { return plan_; }
  runtime::State& state() { return *state_; }
  runtime::Executor& executor() { return *executor_; }
  int64_t members() const { return options_.members; }

 private:
  void compile(const OpTable& ops, const passes::StepGraph& step,
               size_t num_segments, runtime::Backend& backend);

  TrainerOptions options_;
  plan::Plan plan_;
  std::unique_ptr<plan::Program> program_;
  std::unique_ptr<runtime::State> state_;
  std::unique_ptr<runtime::Executor> executor_;
  std::unique_ptr<LearningRates> rates_;  // null without schedules
};

// The whole step before planning: array, precision, autodiff, accumulation,
// optimizer, layout.
passes::StepGraph build_step(const OpTable& ops, Graph forward,
                             const TrainerOptions& options);

}  // namespace braid::train
