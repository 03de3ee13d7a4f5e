// Changes of a job between a stop and a resume: which keys differ, and which
// of them a run may go on with.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "braid/train/job/job_config.h"

namespace braid::train {

struct KeyChange {
  std::string key;  // "optimizer.lr"
  std::string before, now;
};

// All values of a job as text, by key; what has none is left out.
std::map<std::string, std::string> job_values(const JobConfig& job);

// Keys whose values differ; numbers that are equal do not, however they are
// written.
std::vector<KeyChange> job_changes(const JobConfig& before,
                                   const JobConfig& now);

// Whether a run may go on with another value of that key: how long it trains,
// what it writes and when, where it computes, where its data lie. Everything
// else decides what the numbers before and after the stop have in common.
bool may_change(const KeyChange& change, const JobConfig& job);

// The same for one member of an array alone.
bool may_change_alone(const KeyChange& change);

// "log_every is 5, was 10"
std::string change_text(const KeyChange& change);

// The config that a record holds, see RunRecord::config. Throws when it cannot
// be read.
JobConfig recorded_job(const std::string& text);

}  // namespace braid::train
