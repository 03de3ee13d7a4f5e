// RunRecord: where a run is, besides what its State holds. Checkpoints keep
// it as JSON, so that a run goes on as if it had never stopped.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "braid/data/loader.h"
#include "braid/io/run/scalars.h"
#include "braid/train/run/data_sum.h"

namespace braid::train {

// The best evaluation so far by one metric.
struct Best {
  std::optional<double> value = {};
  int64_t step = 0;
  int64_t worse = 0;        // evaluations since then
  std::string metric = {};  // empty: a record that does not say

  // Takes note of an evaluation; whether it is the best so far. Numbers that
  // are not finite never are.
  bool observe(double number, int64_t at_step, bool higher_is_better,
               double min_delta = 0);
};

// Steps of a phase whose loss was not finite, with on_nan: skip.
struct Skips {
  int64_t in_a_row = 0;    // up to the last step
  int64_t since_line = 0;  // of the log

  bool operator==(const Skips&) const = default;
};

struct RunRecord {
  int64_t step = 0;              // steps done
  data::Position position = {};  // of the next batch
  double time_s = 0;             // of training so far
  // Since the last line of metrics, by phase.
  std::vector<double> loss_sums = {};
  std::vector<int64_t> loss_counts = {};
  Best best = {};               // of checkpoints
  Best early_stop = {};         // of early stopping
  int64_t last_eval = 0;        // step of the last evaluation,
  io::Scalars evaluation = {};  // and its values
  // Where averaged weights were evaluated: the values of the others.
  io::Scalars raw_evaluation = {};
  std::vector<Skips> skips = {};  // by phase; empty: none
  // The job as it was when this was saved, without what is as the defaults
  // are, and its data; empty: a record that does not say.
  std::string config = {};
  std::optional<DataSum> train_data = {}, eval_data = {};
};

nlohmann::json record_json(const RunRecord& record);
// Throws std::runtime_error when something is missing or of another kind; what
// records did not always have may be missing.
RunRecord read_record(const nlohmann::json& json);

}  // namespace braid::train
