// Files of predictions, written batch by batch:
//
//   .npy          one output, [N, ...]
//   .safetensors  every output by its name, [N, ...], and `sample`, i64 [N]
//   .csv          a line per sample: sample, place, a column per element
//
// Beside an output that is called `sample` the number is `sample_number`.
// A sample is known by its number and by its place in the source. Of the first
// two formats both are in a table beside them: x.npy has x.rows.csv.
#pragma once

#include <filesystem>
#include <memory>

#include "braid/train/run/prediction.h"

namespace braid::train {

class PredictionFile {
 public:
  virtual ~PredictionFile() = default;
  // The next rows, in order.
  virtual void add(const data::Dataset& data, const data::Batch& batch,
                   const Prediction::Rows& rows) = 0;
  // It appears, whole; before, nothing has changed.
  virtual void finish() = 0;
};

// Throws std::invalid_argument for another ending, and for several outputs
// where a format has one.
std::unique_ptr<PredictionFile> create_prediction_file(
    const std::filesystem::path& path,
    const std::vector<PredictedOutput>& outputs, int64_t samples);

// Throws as that does for an ending that there is not; opens nothing.
void check_prediction_name(const std::filesystem::path& path);

// The table beside a file.
std::filesystem::path rows_path(const std::filesystem::path& path);

}  // namespace braid::train
