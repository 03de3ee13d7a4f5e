// Prediction: what a model with given weights says about data, which need not
// have what its loss compares with.
#pragma once

#include <memory>

#include "braid/train/run/forward_pass.h"

namespace braid::train {

struct PredictionOptions {
  DataConfig data = {};     // to say something about
  std::string output = {};  // of the model; empty: all with a row per sample
  int64_t limit = 0;        // the first samples only; 0: all
  // So many classes with the highest scores, as outputs `class` and `score`, in
  // place of an output [N, C]; 0: the output itself.
  int64_t top = 0;
};

// An output, and the shape of what it says about one sample.
struct PredictedOutput {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  // Of classes: what the data call them; empty where they do not.
  std::vector<std::string> names = {};
};

// One thread. Borrows the machine, and what the hooks share.
class Prediction {
 public:
  // Opens the data of `config`, which tell sizes of the model and which label
  // has which number, and those of the options. Throws as Job does.
  Prediction(const runtime::Machine& machine, JobConfig config,
             const PredictionOptions& options, const InitFile& weights,
             const JobHooks& shared = {});

  const std::vector<PredictedOutput>& outputs() const { return outputs_; }
  const data::Dataset& data() const { return *data_; }

  // For each batch, in the order of the data: its rows of every output. False
  // ends it.
  using Rows = std::vector<std::vector<std::byte>>;
  using Visit = std::function<bool(const data::Batch& batch, const Rows& rows)>;
  bool run(const Visit& visit);

 private:
  void open(const PredictionOptions& options, const JobHooks& shared);
  void note_outputs();
  void check_inputs(const Graph& graph, int64_t rows, bool allows_nan) const;

  const runtime::Machine& machine_;
  JobConfig config_;
  JobData reference_;
  data::DatasetPtr data_;
  std::unique_ptr<JobModel> model_;
  std::unique_ptr<ForwardPass> pass_;
  int64_t num_ranked_ = 0;  // classes that the top ones are of; 0: none
  std::vector<PredictedOutput> outputs_;
};

}  // namespace braid::train
