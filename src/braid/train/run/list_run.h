// ListRun: the jobs of a list, one array after the other, in one folder.
#pragma once

#include <functional>
#include <memory>

#include "braid/plan/profile.h"
#include "braid/train/job/job_folder.h"
#include "braid/train/run/dataset_cache.h"
#include "braid/train/run/results_keeper.h"
#include "braid/train/run/run.h"

namespace braid::train {

struct ListRunOptions {
  std::function<bool()> stop = {};  // asked after every step
  // What it gives is kept while an array is compiled and has no step that
  // could be lost.
  std::function<std::shared_ptr<void>()> preparing = {};
  Listener* listener = nullptr;
  // Gets the seconds that a step of each array took; borrowed.
  plan::Profile* profile = nullptr;
  bool logs_passes = false;  // see RunOptions
  // Values that all jobs go on with, and keep: "epochs=10".
  std::vector<std::string> overrides = {};
};

// One thread. Borrows the machine and the listener.
class ListRun {
 public:
  // The jobs of a folder, from where they are; opens all of them. Holds its
  // lock while it lives.
  ListRun(const runtime::Machine& machine, std::filesystem::path out,
          ListRunOptions options);

  // Trains to the end. A job that fails does not keep others from ending. The
  // folder's results.json and results.csv tell how all of them stand.
  Ending run();

  // How all jobs stand.
  const ArrayReport& report() const { return report_; }
  // Why a job failed, by number; empty: it did not.
  const std::vector<std::string>& failures() const { return failures_; }
  const JobFolder& folder() const { return folder_; }

 private:
  void read_own_configs();
  std::unique_ptr<ResultsKeeper> keep_results();
  void change_jobs();
  Ending run_array(size_t number);
  Ending run_members(size_t number);
  void note(const Run& run, const std::vector<size_t>& numbers);

  std::filesystem::path out_;
  ListRunOptions options_;
  io::DirectoryLock lock_;
  JobFolder folder_;
  DatasetCache datasets_;
  ModelFiles models_;
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<io::Hparams> hparams_;  // by job
  ArrayReport report_;
  std::vector<std::string> failures_;
  std::unique_ptr<ResultsKeeper> results_;
};

}  // namespace braid::train
