// Checkpoints of a `step` run: the whole State, the losses so far, and the
// arguments that made them, so that only the same run goes on.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "braid/io/checkpoint/checkpoint.h"
#include "braid/runtime/state.h"

namespace braid::cli {

// How far a run has come.
struct RunRecord {
  int64_t step = 0;                         // steps done
  std::vector<std::vector<double>> losses;  // by member, then step
};

// A loss that is no number is null in JSON.
nlohmann::json losses_json(const std::vector<double>& losses);

// Writes root/step-N and tidies the root.
void save_run(const std::filesystem::path& root, const runtime::State& state,
              const RunRecord& record, const nlohmann::json& arguments);

// Deletes all but the last two checkpoints, and what killed runs left.
void tidy_checkpoints(const std::filesystem::path& root);

// The newest complete checkpoint; nothing when there is none. Damaged ones are
// named on stderr. Throws when it was made by other arguments, or lies beyond
// `steps`.
std::optional<io::CheckpointDir> find_run(const std::filesystem::path& root,
                                          const nlohmann::json& arguments,
                                          int64_t steps);

// Fills the state and returns the record.
RunRecord restore_run(const io::CheckpointDir& checkpoint,
                      runtime::State& state);

}  // namespace braid::cli
