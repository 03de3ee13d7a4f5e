// BatchFeed: batches of data, and noise, as the inputs of one program.
#pragma once

#include <vector>

#include "braid/io/data/loader.h"
#include "braid/runtime/executor.h"
#include "braid/train/job_data.h"

namespace braid::train {

class BatchFeed {
 public:
  // Borrows the graph of the program that runs.
  BatchFeed(const JobData& data, const JobConfig& config, const Graph& graph);

  // Inputs of a step; draws its noise. They stay until the next call, as long
  // as the batch does.
  void set(const data::Batch& batch, int64_t step);
  const std::byte* at(int64_t micro, ValueId input) const;

 private:
  struct Source {
    std::optional<size_t> field;  // none: noise
    size_t noise = 0;
    size_t micro_bytes = 0;
  };
  struct Noise {
    std::string name;
    bool is_normal = true;
    DType dtype = DType::kFloat32;
    int64_t row_elements = 0;
    std::vector<std::byte> bytes;
  };
  void draw(Noise& noise, int64_t rows, int64_t step) const;

  int64_t seed_;
  std::vector<Source> sources_;  // by input of the graph
  std::vector<Noise> noise_;
  const data::Batch* batch_ = nullptr;
};

// The numbers of one noise: a function of seed, name, step and element.
double noise_value(int64_t seed, const std::string& name, int64_t step,
                   uint64_t element, bool is_normal);

}  // namespace braid::train
