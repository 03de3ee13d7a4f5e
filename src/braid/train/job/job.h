// Job: one training run with its files open and everything checked that can
// be known before it starts.
#pragma once

#include <chrono>
#include <memory>

#include "braid/compile/step_spec.h"
#include "braid/data/loader.h"
#include "braid/train/job/job_data.h"
#include "braid/train/job/job_metrics.h"
#include "braid/train/job/job_model.h"

namespace braid::train {

class Job {
 public:
  // Borrows the machine. Blocks while data and models are read. Throws
  // std::invalid_argument for what the user can mend in the job,
  // std::runtime_error for files and devices.
  Job(const runtime::Machine& machine, JobConfig config, JobHooks hooks = {});
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const runtime::Machine& machine() const { return machine_; }
  const JobConfig& config() const { return config_; }
  const JobData& data() const { return data_; }
  const JobModel& model() const { return *model_; }
  bool has_eval() const { return data_.eval != nullptr; }
  // What its evaluations are judged by, and what early stopping watches.
  const Watched& best_by() const { return best_by_; }
  const Watched& stops_by() const { return stops_by_; }

  // Looks at samples, more than the constructor did where the limits allow.
  // Throws for what check_values() refuses.
  struct DataChecks {
    DataCheck train, eval;
  };
  DataChecks check_data(const CheckLimits& limits) const;
  // What the constructor looked at.
  const DataChecks& data_checks() const { return checks_; }

  int64_t num_steps() const { return num_steps_; }
  // Of a network's rates, for as many updates as the run makes to it; none:
  // constant rates.
  std::optional<passes::Schedule> schedule(size_t network) const;
  std::optional<double> num_epochs() const;  // when the job counts them
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  // Rows of batches: full ones, and the last of an epoch where it is shorter
  // and comes up at all; 0: it does not.
  int64_t batch_rows() const { return config_.batch_size; }
  int64_t rest_rows() const { return rest_rows_; }
  int64_t eval_rows() const { return eval_rows_; }
  int64_t eval_rest_rows() const { return eval_rest_rows_; }

  // Micro-batches of a batch: `accumulate`; of a shorter one as many as keep
  // its parts as small, or fewer where they would be less than half of that.
  int64_t micro_batches(int64_t rows) const;

  // Rows of all batches that come up, full ones first.
  std::vector<int64_t> step_row_counts() const;
  std::vector<int64_t> eval_row_counts() const;
  // One program of the job alone: a phase on so many rows, or the evaluation.
  // All programs of a job or an array are those of train/array/array_specs.h.
  compile::StepSpec step_spec(size_t phase, int64_t rows) const;
  compile::StepSpec eval_spec(int64_t rows) const;
  data::LoaderOptions loader_options() const;  // of training
  int threads() const;
  DeviceId device() const;
  runtime::Budget budget() const;  // of that device
  std::unique_ptr<runtime::Backend> open_device() const;
  double open_s() const { return open_s_; }  // that the constructor took

 private:
  std::string data_key() const;
  std::string step_name(size_t phase, int64_t rows) const;
  void count_steps();

  std::chrono::steady_clock::time_point begin_ =
      std::chrono::steady_clock::now();
  double open_s_ = 0;
  const runtime::Machine& machine_;
  JobConfig config_;
  JobData data_;
  std::unique_ptr<JobModel> model_;
  DataChecks checks_;
  Watched best_by_, stops_by_;
  int64_t num_steps_ = 0, steps_per_epoch_ = 0;
  int64_t rest_rows_ = 0, eval_rows_ = 0, eval_rest_rows_ = 0;
};

}  // namespace braid::train
