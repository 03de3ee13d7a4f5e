// Inputs made up for tests: what a member sees is a function of its data seed,
// the step, the micro-batch and the input's name, alone or in an array.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "braid/base/rng.h"
#include "braid/graph/graph.h"
#include "braid/passes/names.h"

namespace braid {

struct BatchOptions {
  std::vector<int64_t> data_seeds = {0};  // one per member
  bool as_array = false;                  // inputs lead with members
  // One batch for all members, of the first seed.
  std::vector<std::string> shared_inputs = {};
  int64_t classes = 3;      // limit of integers
  uint64_t nudge_seed = 0;  // moves floats by 8 ulp; 0: not
};

template <class T>
void nudge_items(std::span<std::byte> bytes, uint64_t seed) {
  auto* items = reinterpret_cast<T*>(bytes.data());
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T towards = mix_bits(seed, i) % 2 ? T(INFINITY) : T(-INFINITY);
    for (int ulp = 0; ulp < 8; ++ulp) {
      items[i] = std::nextafter(items[i], towards);
    }
  }
}

// Moves each float by 8 ulp up or down.
inline void nudge(std::span<std::byte> bytes, DType dtype, uint64_t seed) {
  if (dtype == DType::kFloat32) nudge_items<float>(bytes, seed);
  if (dtype == DType::kFloat64) nudge_items<double>(bytes, seed);
}

class Batches {
 public:
  Batches(const Graph& graph, BatchOptions options)
      : graph_(graph), options_(std::move(options)) {}

  // The input's content; stays until the same micro-batch is asked for again.
  const std::byte* input(int64_t step, int64_t micro, ValueId id) {
    const Value& value = graph_.value(id);
    std::vector<std::byte>& content = contents_[{micro, id}];
    content.assign(bytes_of(value.type), std::byte{0});
    size_t parts = is_split(value.name) ? options_.data_seeds.size() : 1;
    std::span<std::byte> all(content);
    for (size_t m = 0; m < parts; ++m) {
      size_t size = content.size() / parts;
      fill(all.subspan(m * size, size), value, options_.data_seeds[m],
           (step << 8) + micro);
    }
    if (options_.nudge_seed != 0) {
      nudge(content, value.type.dtype, options_.nudge_seed);
    }
    return content.data();
  }

 private:
  static size_t bytes_of(const ValueType& type) {
    return static_cast<size_t>(num_elements(type.shape) *
                               item_bytes(type.dtype));
  }

  bool is_split(const std::string& name) const {
    const auto& shared = options_.shared_inputs;
    return options_.as_array &&
           std::find(shared.begin(), shared.end(), name) == shared.end();
  }

  void fill(std::span<std::byte> to, const Value& value, int64_t seed,
            int64_t moment) const {
    ElementRandom random(
        mix_bits(static_cast<uint64_t>(seed), static_cast<uint64_t>(moment)),
        value.name);
    switch (value.type.dtype) {
      case DType::kFloat32:
        return store<float>(to, [&](size_t i) { return random.normal(i); });
      case DType::kFloat64:
        return store<double>(to, [&](size_t i) { return random.normal(i); });
      default:
        return store<int64_t>(to, [&](size_t i) {
          return random.uniform(i) * static_cast<double>(options_.classes);
        });
    }
  }

  template <class T, class Make>
  static void store(std::span<std::byte> to, Make make) {
    for (size_t i = 0; i < to.size() / sizeof(T); ++i) {
      T item = static_cast<T>(make(i));
      std::memcpy(to.data() + i * sizeof(T), &item, sizeof(T));
    }
  }

  const Graph& graph_;
  BatchOptions options_;
  std::map<std::pair<int64_t, ValueId>, std::vector<std::byte>> contents_;
};

}  // namespace braid
