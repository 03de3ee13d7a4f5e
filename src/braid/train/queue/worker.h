// Worker: one of several processes, on any hosts, that train the jobs of a
// folder which all of them see, until all have ended.
//
// A worker has the lease of the array that it trains. One that is not heard of
// for as long as a lease lasts loses it: another goes on from the newest
// checkpoint, and the first can write nothing any more.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "braid/io/file/append_file.h"
#include "braid/io/file/directory_lock.h"
#include "braid/train/job/job_folder.h"
#include "braid/train/queue/lease.h"
#include "braid/train/queue/queue_folder.h"
#include "braid/train/run/dataset_cache.h"
#include "braid/train/run/run.h"

namespace braid::train {

struct WorkerOptions {
  std::optional<DeviceId> device = {};  // in place of those of the jobs
  std::optional<int> gpu = {};          // where a job says "cuda" alone
  int64_t memory_limit = kNoLimit;      // of that device
  std::function<bool()> stop = {};      // asked after every step
  std::function<void(const std::string& text)> say = {};
  Listener* listener = nullptr;
  double pause_s = 0.5;  // between two looks at what others have
  LeaseClock now = seconds_since_boot;
};

// One thread, and one that tells the store that this worker lives. Borrows the
// machine and the store.
class Worker {
 public:
  // Throws when there is no queue in the folder, or somebody trains its jobs
  // without one.
  Worker(const runtime::Machine& machine, std::filesystem::path out,
         runtime::Store& store, WorkerOptions options);

  // Blocks until all arrays have ended, here or elsewhere, or `stop` said so.
  // Throws when the store or the folder is gone; what was trained is saved.
  Ending run();

  const std::string& name() const { return name_; }
  int num_trained() const { return num_trained_; }  // arrays, to their end
  // Jobs that failed here, and why.
  const std::map<std::string, std::string>& failures() const {
    return failures_;
  }

 private:
  enum class Look { kTook, kWaits, kOver };

  Look look_for_one();
  bool try_array(size_t number);
  ArrayTicket train(size_t number, Lease& lease, ArrayTicket ticket);
  Ending train_jobs(size_t number, const Lease& lease, ArrayTicket& ticket);
  void note_problem(size_t number, const std::exception& error,
                    ArrayTicket& ticket);
  std::unique_ptr<runtime::Backend> open_device(const Job& job) const;
  void give_up(size_t number, ArrayTicket& ticket);
  bool is_left_to_me(size_t number, const ArrayTicket& ticket);
  void check_folder() const;
  bool stops() const { return options_.stop && options_.stop(); }
  void keep_results(bool is_last);
  void log(const char* event, size_t number, int64_t lease);
  void say(const std::string& text) const;
  std::string words_of(size_t number) const;

  const runtime::Machine& machine_;
  std::filesystem::path out_;
  runtime::Store& store_;
  WorkerOptions options_;
  io::DirectoryLock lock_;
  QueueConfig config_;
  JobFolder folder_;
  std::string name_;
  LeaseTaker taker_;
  io::AppendFile log_;
  std::vector<size_t> order_;  // of arrays: who comes first
  std::set<size_t> over_;
  std::vector<io::Hparams> hparams_;  // by job
  ArrayReport report_;
  std::map<std::string, std::string> failures_;
  // Arrays that this worker could not train and nobody has taken since.
  std::map<size_t, double> left_since_s_;
  double next_results_s_ = 0;
  int num_trained_ = 0, failures_in_a_row_ = 0;
};

// Writes results.json and results.csv anew from what the folders hold.
void write_results(const std::filesystem::path& out);

}  // namespace braid::train
