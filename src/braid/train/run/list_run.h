// ListRun: the jobs of a list, in one folder. Their arrays train one after the
// other, or at once on the devices that they share.
#pragma once

#include <functional>
#include <memory>

#include "braid/base/error.h"
#include "braid/plan/profile.h"
#include "braid/train/job/job_folder.h"
#include "braid/train/jobs/joined_report.h"
#include "braid/train/jobs/orchestrator.h"
#include "braid/train/jobs/work_plans.h"
#include "braid/train/run/dataset_cache.h"
#include "braid/train/run/results_keeper.h"
#include "braid/train/run/run.h"

namespace braid::train {

struct ListRunOptions {
  std::function<bool()> stop = {};  // asked after every step, by any thread
  // What it gives is kept while an array is compiled and nothing has a step
  // that could be lost.
  std::function<std::shared_ptr<void>()> preparing = {};
  Listener* listener = nullptr;  // called by one thread at a time
  // Gets the seconds that a step of each array took; borrowed.
  plan::Profile* profile = nullptr;
  bool logs_passes = false;  // see RunOptions
  // A file for Perfetto: which job was where, and what streams did; empty:
  // none.
  std::filesystem::path trace = {};
  // Values that all jobs go on with, and keep: "epochs=10".
  std::vector<std::string> overrides = {};
  // In place of those that the folder has.
  std::optional<JobDevices> devices = {};
  // Told what will run where, once that is known.
  std::function<void(const SharingPlan&, const JobDevices&)> planned = {};
};

// Several jobs that failed for one reason, by number.
struct ArrayFailure {
  std::vector<size_t> jobs;
  ErrorParts error;
};

// Borrows the machine and the listener.
class ListRun {
 public:
  // The jobs of a folder, from where they are; opens all of them. Holds its
  // lock while it lives.
  ListRun(const runtime::Machine& machine, std::filesystem::path out,
          ListRunOptions options);

  // Trains to the end. A job that fails does not keep others from ending; when
  // all fail for what the first one's error says, it throws that. The folder's
  // results.json and results.csv tell how all of them stand.
  Ending run();

  // How all jobs stand.
  const ArrayReport& report() const { return report_; }
  // Why a job failed, by number; empty: it did not.
  const std::vector<std::string>& failures() const { return failures_; }
  // Of those, what was not the job's own numbers.
  const std::vector<ArrayFailure>& errors() const { return errors_; }
  const JobFolder& folder() const { return folder_; }

 private:
  void read_own_configs();
  std::unique_ptr<ResultsKeeper> keep_results();
  void change_jobs();
  void change_devices();
  void plan();
  Work work(size_t number);
  std::unique_ptr<runtime::Backend> open_device(
      const std::string& name, const Job& first, std::optional<DeviceId> device,
      const runtime::Budget& budget) const;
  std::unique_ptr<Run> begin_array(size_t number, runtime::Backend& device);
  void end_array(size_t number, Run* run, const std::exception_ptr& error);
  void note(const Run& run, const std::vector<size_t>& numbers);
  std::vector<DeviceReport> device_reports() const;

  const runtime::Machine& machine_;
  std::filesystem::path out_;
  ListRunOptions options_;
  io::DirectoryLock lock_;
  JobFolder folder_;
  std::unique_ptr<io::Trace> trace_;  // null: nobody wants one
  DatasetCache datasets_;
  ModelFiles models_;
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<io::Hparams> hparams_;  // by job
  compile::ProgramCache programs_;
  SharingPlan sharing_;
  ArrayReport report_;
  std::vector<std::string> failures_;
  std::vector<ArrayFailure> errors_;
  std::exception_ptr first_error_;
  std::unique_ptr<ResultsKeeper> results_;
  std::unique_ptr<JoinedReport> joined_;
  std::vector<std::unique_ptr<JoinedReport::Part>> parts_;  // by array
  std::unique_ptr<Orchestrator> orchestrator_;
};

}  // namespace braid::train
