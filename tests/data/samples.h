// Shared by the tests of this folder: one sample as values, and a dataset
// whose samples say which they are.
#pragma once

#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "braid/data/dataset.h"
#include "braid/data/sources.h"
#include "io/scratch.h"

namespace braid::data {

using io::error_of;
using io::expect_contains;
using io::ScratchDirectory;
using io::write_text;

// The bytes of one sample, per field.
inline std::vector<std::vector<std::byte>> sample_of(const Dataset& dataset,
                                                     int64_t index,
                                                     Draw draw = {}) {
  std::vector<std::vector<std::byte>> fields;
  std::vector<std::byte*> out;
  for (const Field& field : dataset.fields()) {
    fields.emplace_back(sample_bytes(field));
  }
  for (auto& field : fields) out.push_back(field.data());
  dataset.read(index, draw, out);
  return fields;
}

template <class T>
std::vector<T> values_in(const std::byte* bytes, size_t count) {
  std::vector<T> values(count);
  if (count > 0) std::memcpy(values.data(), bytes, count * sizeof(T));
  return values;
}

template <class T>
std::vector<T> values_of(const Dataset& dataset, int64_t index, size_t field,
                         Draw draw = {}) {
  auto bytes = sample_of(dataset, index, draw)[field];
  return values_in<T>(bytes.data(), bytes.size() / sizeof(T));
}

inline int64_t label_of(const Dataset& dataset, int64_t index) {
  return values_of<int64_t>(dataset, index, 1)[0];
}

// Sample i is the number i, once `before` has run.
class Numbers : public Dataset {
 public:
  explicit Numbers(
      int64_t size, std::function<void(int64_t)> before = [](int64_t) {})
      : Dataset("numbers", {{"n", DType::kInt64, {}}}, size),
        before_(std::move(before)) {}

  void read(int64_t index, const Draw&,
            std::span<std::byte* const> out) const override {
    before_(index);
    std::memcpy(out[0], &index, sizeof index);
  }

 private:
  std::function<void(int64_t)> before_;
};

}  // namespace braid::data
