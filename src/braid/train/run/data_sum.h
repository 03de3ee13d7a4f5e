// DataSum: by what a run knows its data again when it is resumed.
//
// Samples say more than files: they are there for every source, and a file
// that was copied or touched has the same ones. Of many samples only some are
// looked at; then sizes and times of files tell what these do not.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "braid/data/dataset.h"
#include "braid/train/job/job_config.h"

namespace braid::train {

struct DataSum {
  struct File {
    std::string path;
    int64_t bytes = 0;
    int64_t time_ns = 0;  // of its last change

    bool operator==(const File&) const = default;
  };
  int64_t samples = 0;
  int64_t looked_at = 0;  // of them
  uint64_t sum = 0;       // of their content
  std::vector<File> files = {};

  bool operator==(const DataSum&) const = default;
};

// Reads some samples, all of them when they are few; blocks. The same dataset
// has the same sum each time.
DataSum sum_data(const data::Dataset& dataset);

// The regular files that the options of a source name.
std::vector<DataSum::File> files_of(const DataConfig& config);

// What tells that the content is another one; empty: nothing.
std::string content_change(const DataSum& before, const DataSum& now);

// Files that changed although the samples that were looked at did not; empty
// when there are none, or when all samples are the same.
std::string file_change(const DataSum& before, const DataSum& now);

nlohmann::json sum_json(const DataSum& sum);
// Throws nlohmann::json::exception when something is missing.
DataSum read_sum(const nlohmann::json& json);

}  // namespace braid::train
