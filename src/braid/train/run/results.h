// Results: how runs stand or what came of them, with the keys in which their
// jobs differ; as the files results.json and results.csv of a list of jobs.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "braid/train/job/job_config.h"
#include "braid/train/run/listener.h"

namespace braid::train {

struct RunResult {
  std::string name = {};
  MemberState state = MemberState::kWaiting;
  std::string error = {};  // why it failed; empty: it did not
  int64_t step = 0;        // that is done
  int64_t steps = 0;       // in all; 0: not known
  double seconds = 0;      // of training
  BestReport best = {};    // of its evaluations
  int64_t last_eval = 0;   // step of the last one,
  io::Scalars last = {};   // and its values; empty: none yet
  io::Scalars raw = {};    // as `last`, of weights that are not averaged
  std::optional<double> loss = {};                 // of training, the last
  std::map<std::string, std::string> values = {};  // by key that differs
  std::string folder = {};
};

struct Results {
  std::vector<std::string> keys = {};  // in which the jobs differ
  std::vector<RunResult> runs = {};
};

// "running", "waiting", "done", "stopped early", "stopped", "failed", ...
std::string_view state_word(MemberState state);
// Nothing for another word.
std::optional<MemberState> find_state(std::string_view word);

// Keys whose values differ, and the values of each job; in the order of keys.
void add_differences(Results& results, const std::vector<JobConfig>& jobs);

// Numbers that are not finite are null.
std::string results_json(const Results& results);
// A line of titles and one for each run.
std::string results_csv(const Results& results);

// Names within the folder of a list.
std::filesystem::path results_json_path(const std::filesystem::path& out);
std::filesystem::path results_csv_path(const std::filesystem::path& out);

}  // namespace braid::train
