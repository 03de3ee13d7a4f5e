// Data that are a function of the sample's number, for tests.
#pragma once

#include <cstring>

#include "braid/data/loader.h"
#include "braid/train/job/job_data.h"

namespace braid::train {

// x f32 [2] is {i, i + 0.5}, y i64 is i.
class CountingData : public data::Dataset {
 public:
  explicit CountingData(int64_t size, int64_t classes = 0)
      : Dataset(
            "counting",
            {{"x", DType::kFloat32, {2}, 0}, {"y", DType::kInt64, {}, classes}},
            size) {}

  void read(int64_t index, const data::Draw&,
            std::span<std::byte* const> out) const override {
    const float x[] = {static_cast<float>(index),
                       static_cast<float>(index) + 0.5f};
    std::memcpy(out[0], x, sizeof x);
    std::memcpy(out[1], &index, sizeof index);
  }
};

inline JobData small_data(int64_t size) {
  return {.train = std::make_shared<CountingData>(size),
          .eval = nullptr,
          .inputs = {}};
}

struct OwnedBatch : data::Batch {
  std::vector<std::vector<std::byte>> storage;  // what `fields` point to
};

// The samples of these numbers.
inline OwnedBatch read_batch(const data::Dataset& dataset,
                             const std::vector<int64_t>& samples) {
  OwnedBatch batch;
  batch.rows = static_cast<int64_t>(samples.size());
  for (const data::Field& field : dataset.fields()) {
    size_t bytes = samples.size() * data::sample_bytes(field);
    batch.fields.push_back(batch.storage.emplace_back(bytes).data());
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    std::vector<std::byte*> out;
    for (size_t f = 0; f < batch.fields.size(); ++f) {
      size_t bytes = data::sample_bytes(dataset.fields()[f]);
      out.push_back(batch.fields[f] + i * bytes);
    }
    dataset.read(samples[i], {}, out);
  }
  return batch;
}

}  // namespace braid::train
