// Options of `braid step`, as they were written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "braid/io/pt2/import.h"
#include "braid/train/job/job_config.h"

namespace braid::cli {

struct StepOptions {
  // What jobs of `train` have too. Empty: no optimizer was named, the rate is
  // constant, the type is that of the inputs.
  train::JobConfig job = {
      .optimizer = {.kind = ""}, .schedule = "", .dtype = ""};
  std::string inputs;  // safetensors file
  std::string form = "train";
  std::vector<std::string> set = {};           // NAME=VALUE
  std::vector<std::string> group = {};         // PATTERN: NAME=VALUE, ...
  std::vector<std::string> init_weights = {};  // PATTERN=INITIALISER
  std::string members;                         // YAML file; empty: one model
  std::string plan;          // YAML file; empty: chosen to fit the limit
  std::string init;          // safetensors file; empty: by the seed
  std::string memory_limit;  // bytes; empty: none
  std::string host_limit;    // of memory that a plan moves things to
  std::string spill_dir;     // a folder; empty: none
  std::string profile;       // what was measured; completed and written
  std::string out;

  std::optional<io::pt2::NamedLoss> named_loss() const;

  // Throws on what is missing or out of range.
  void validate() const;
};

}  // namespace braid::cli
