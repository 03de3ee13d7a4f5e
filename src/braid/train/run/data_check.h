// What samples hold, looked at before training: numbers that are not finite,
// and classes or tokens that the model does not have.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "braid/data/dataset.h"
#include "braid/graph/graph.h"
#include "braid/train/array/index_ranges.h"

namespace braid::train {

// How much is looked at: the first samples, as many as both allow, and one at
// least.
struct CheckLimits {
  int64_t samples = int64_t{1} << 20;
  int64_t values = int64_t{1} << 24;
};

// For the start of a training, and for those who have the time.
inline constexpr CheckLimits kQuickCheck{};
inline constexpr CheckLimits kLongCheck{int64_t{1} << 24, int64_t{1} << 28};

// The inputs of models that samples feed: by name, whole numbers that count
// something with their range.
using ModelInputs = std::map<std::string, std::optional<IndexRange>>;

// Adds those of a graph; an index must lie in every range it is read by.
void add_inputs(ModelInputs& inputs, const Graph& forward);

// What to do about floats that are not finite.
enum class NonFinite { kRefuse, kNote, kAllow };

struct DataCheck {
  int64_t samples = 0;    // that were looked at; 0: all was known before
  int64_t size = 0;       // that there are
  std::string note = {};  // about floats that are not finite; empty: none
};

// Reads samples in their order. Throws one error for all fields, with what was
// found first in each, its place, and in how many samples; what fields hold by
// construction is not looked at. `argument` names the input that a field
// feeds; fields without one are passed over. May block on the disk.
DataCheck check_values(
    const data::Dataset& dataset, const ModelInputs& inputs,
    const std::function<std::string(const std::string&)>& argument,
    NonFinite non_finite, const CheckLimits& limits);

// The first sample with an index outside: "row 7 of y.npy holds 12, expected 0
// to 9"; empty when the limits allow to see none.
std::string first_outside(const data::Dataset& dataset, size_t field,
                          const IndexRange& range, const CheckLimits& limits);

// "all 400 samples", "the first 1048576 of 5000000 samples"
std::string checked_text(const DataCheck& check);

}  // namespace braid::train
