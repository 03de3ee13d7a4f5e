// Job: one training run with its files open and everything checked that can
// be known before it starts.
#pragma once

#include <memory>

#include "braid/train/job_data.h"
#include "braid/train/job_model.h"

namespace braid::train {

class Job {
 public:
  // Borrows the machine. Blocks while data and models are read. Throws
  // std::invalid_argument for what the user can mend in the job,
  // std::runtime_error for files and devices.
  Job(const runtime::Machine& machine, JobConfig config);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const runtime::Machine& machine() const { return machine_; }
  const JobConfig& config() const { return config_; }
  const JobData& data() const { return data_; }
  const JobModel& model() const { return *model_; }
  bool has_eval() const { return data_.eval != nullptr; }

  int64_t num_steps() const { return num_steps_; }
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  // Rows of batches: full ones, and the last of an epoch where it is shorter
  // and comes up at all; 0: it does not.
  int64_t batch_rows() const { return config_.batch_size; }
  int64_t rest_rows() const { return rest_rows_; }
  int64_t eval_rows() const { return eval_rows_; }
  int64_t eval_rest_rows() const { return eval_rest_rows_; }

  // Micro-batches of a batch: `accumulate`, or as many as keep the parts of a
  // shorter one as small.
  int64_t micro_batches(int64_t rows) const;

  // Where the programs of a job stand in the list of its sources.
  struct Places {
    std::vector<size_t> full, rest;  // by phase
    size_t eval = 0, eval_rest = 0;
  };
  const Places& places() const { return places_; }
  std::vector<ProgramSource> sources() const;
  ProgramOptions program_options() const;
  int threads() const;
  std::string device() const;
  int64_t limit_bytes() const;  // kNoLimit without one

 private:
  void count_steps();
  void set_epochs(int64_t epochs);
  void set_places();

  const runtime::Machine& machine_;
  JobConfig config_;
  JobData data_;
  std::unique_ptr<JobModel> model_;
  int64_t num_steps_ = 0, steps_per_epoch_ = 0;
  int64_t rest_rows_ = 0, eval_rows_ = 0, eval_rest_rows_ = 0;
  Places places_;
};

}  // namespace braid::train
