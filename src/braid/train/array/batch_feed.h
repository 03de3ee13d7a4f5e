// BatchFeed: batches of data, and noise, as the inputs of one program.
#pragma once

#include <span>
#include <vector>

#include "braid/data/loader.h"
#include "braid/runtime/executor.h"
#include "braid/train/job/job_data.h"

namespace braid::train {

// What one member of an array is fed with; a single model is the only one.
struct MemberInputs {
  const data::Batch* batch = nullptr;  // null: whatever was there before
  int64_t seed = 0, step = 0;          // of its noise
  bool steps = true;  // false: it pauses, so that any numbers will do
};

class BatchFeed {
 public:
  // Borrows the graph of the program that runs; B `members`, or 0 for one
  // model. All members have data with these fields and the same noise; of an
  // array they may share the data, never the noise. Of a graph of several
  // micro-batches the inputs of one are fed, its first ones.
  BatchFeed(const JobData& data, const JobConfig& config, const Graph& graph,
            int64_t members = 0, bool shares_data = false,
            std::optional<size_t> num_inputs = {});

  // Inputs of a step, by lane; draws its noise. Batches must stay until the
  // step is over. An input that members share is that of the first batch.
  void set(std::span<const MemberInputs> members);
  // The same for one model.
  void set(const data::Batch& batch, int64_t step);

  // Valid until the next call for the same input.
  const std::byte* at(int64_t micro, ValueId input);

 private:
  struct Source {
    std::optional<size_t> field = {};  // none: noise
    size_t noise = 0;
    bool is_shared = true;   // by all members; a single model's always is
    size_t micro_bytes = 0;  // of one member
    std::vector<std::byte> joined = {};  // members one after the other
  };
  struct Noise {
    std::string name;
    bool is_normal = true;
    DType dtype = DType::kFloat32;
    int64_t row_elements = 0;
    std::vector<std::vector<std::byte>> bytes = {};  // by member
  };
  void draw(Noise& noise, size_t member, int64_t rows) const;
  const std::byte* part(const Source& source, size_t member) const;
  bool lies_joined(const Source& source) const;

  int64_t seed_;
  std::vector<Source> sources_;  // by input of the graph
  std::vector<Noise> noise_;
  std::vector<MemberInputs> members_;
};

// The numbers of one noise: a function of seed, name, step and element.
double noise_value(int64_t seed, const std::string& name, int64_t step,
                   uint64_t element, bool is_normal);

}  // namespace braid::train
