// Trainer: one model or one array of members, ready to step. It runs the
// passes, compiles the plan, owns State and Executor.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "braid/ops/core/op.h"
#include "braid/passes/step/optimizer.h"
#include "braid/passes/step/schedule.h"
#include "braid/runtime/executables.h"
#include "braid/train/array/learning_rates.h"

namespace braid::train {

// See compile::StepSpec and runtime::ExecutableOptions for the rest.
struct TrainerOptions {
  passes::Optimizer optimizer;
  // Of the learning rates: one per member, or none at all.
  std::vector<passes::Schedule> schedules = {};
  int64_t members = 0;
  std::vector<std::string> shared_inputs = {};
  int64_t micro_batches = 1;
  DType precision = DType::kFloat32;
  plan::Plan plan = {};
  bool fit_to_limit = true;
  int threads = 1;
  bool capture = true;
  plan::Profile profile = {};
  std::optional<Lowering> lowering = {};
  std::filesystem::path spill_dir = {};
};

class Trainer {
 public:
  // `forward` has an output "loss". Borrows the table and the backend.
  Trainer(const OpTable& ops, Graph forward, runtime::Backend& backend,
          TrainerOptions options);
  // Members that differ in some layers, see passes/array/partial.h; their
  // number is that of the options.
  Trainer(const OpTable& ops, std::vector<Graph> members,
          runtime::Backend& backend, TrainerOptions options);

  // One seed per member.
  void initialise(const std::vector<int64_t>& seeds);

  // One step; see runtime::Executor. With schedules, each member's rates are
  // those of its own step.
  void step(const runtime::Executor::Feed& feed) {
    if (rates_) rates_->before_step();
    executor().step(feed);
    if (rates_) rates_->after_step(losses());
  }
  // Loss of the last step, per member.
  std::vector<double> losses() const { return programs_->executor(0).losses(); }

  // See train::set_hyper. With schedules, "lr" is the base that they start
  // from.
  void set_hyper(int64_t member, const std::string& name, double value);

  const Graph& graph() const { return program().graph; }
  const plan::Program& program() const { return programs_->program(0); }
  const plan::Plan& plan() const { return programs_->plan(); }
  runtime::State& state() { return programs_->state(); }
  runtime::Executor& executor() { return programs_->executor(0); }
  int64_t members() const { return options_.members; }

 private:
  void start(const OpTable& ops, compile::StepSpec spec,
             runtime::Backend& backend);

  TrainerOptions options_;
  std::unique_ptr<runtime::Executables> programs_;
  std::unique_ptr<LearningRates> rates_;  // null without schedules
};

}  // namespace braid::train
