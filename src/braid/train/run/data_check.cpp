#include "braid/train/run/data_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "braid/base/error.h"

namespace braid::train {
namespace {

// A field that has to be looked at, and what was found in it.
struct Looked {
  size_t field = 0;
  std::optional<IndexRange> range = {};
  std::string first = {};  // what is wrong, and where
  int64_t samples = 0;     // in which something is
};

// Comparing exponents is quicker than asking each number, and most are fine.
template <class Float, class Bits>
bool all_finite(std::span<const Float> values) {
  constexpr Bits kInfinity =
      std::bit_cast<Bits>(std::numeric_limits<Float>::infinity());
  Bits most = 0;
  for (Float value : values) {
    most = std::max(most, std::bit_cast<Bits>(std::abs(value)));
  }
  return most < kInfinity;
}

template <class Float, class Bits>
std::string float_problem(const std::vector<std::byte>& bytes) {
  std::span values(reinterpret_cast<const Float*>(bytes.data()),
                   bytes.size() / sizeof(Float));
  if (all_finite<Float, Bits>(values)) return {};
  auto is_finite = [](Float value) { return std::isfinite(value); };
  return fmt::format("{}", *std::ranges::find_if_not(values, is_finite));
}

template <class Whole>
std::string index_problem(const std::vector<std::byte>& bytes,
                          const IndexRange& range) {
  std::span values(reinterpret_cast<const Whole*>(bytes.data()),
                   bytes.size() / sizeof(Whole));
  auto fits = [&](Whole value) {
    auto index = static_cast<int64_t>(value);
    return (index >= 0 && index < range.size) || index == range.ignored;
  };
  auto found = std::ranges::find_if_not(values, fits);
  if (found == values.end()) return {};
  std::string ignored =
      range.ignored ? fmt::format(" or {}", *range.ignored) : "";
  return fmt::format("{}, expected 0 to {}{}", static_cast<int64_t>(*found),
                     range.size - 1, ignored);
}

// What is wrong with the values of one sample; empty: nothing.
std::string problem_of(const std::vector<std::byte>& bytes, DType dtype,
                       const std::optional<IndexRange>& range) {
  if (dtype == DType::kFloat32) return float_problem<float, uint32_t>(bytes);
  if (dtype == DType::kFloat64) return float_problem<double, uint64_t>(bytes);
  if (!range) return {};
  if (dtype == DType::kInt64) return index_problem<int64_t>(bytes, *range);
  if (dtype == DType::kInt32) return index_problem<int32_t>(bytes, *range);
  return {};
}

class Check {
 public:
  Check(const data::Dataset& dataset, NonFinite non_finite)
      : dataset_(dataset), non_finite_(non_finite) {
    for (const data::Field& field : dataset.fields()) {
      bytes_.emplace_back(data::sample_bytes(field));
      out_.push_back(bytes_.back().data());
    }
  }

  void add(size_t number, const std::optional<IndexRange>& range) {
    const data::Field& field = dataset_.fields()[number];
    bool fits = range && field.classes > 0 && field.classes <= range->size;
    bool is_known = field.is_checked && (!range || fits);
    bool is_allowed =
        is_floating(field.dtype) && non_finite_ == NonFinite::kAllow;
    if (is_known || is_allowed) return;
    looked_.push_back({number, range});
    row_values_ += std::max<int64_t>(1, num_elements(field.shape));
  }

  DataCheck run(const CheckLimits& limits) {
    DataCheck check{0, dataset_.size()};
    if (looked_.empty()) return check;
    check.samples = num_samples(limits);
    for (int64_t i = 0; i < check.samples; ++i) look_at(i, check.samples);
    check.note = note();
    fail_for_problems(check);
    return check;
  }

  // What is wrong with the first sample in which something is.
  std::string first_problem(const CheckLimits& limits) {
    if (looked_.empty()) return {};
    for (int64_t i = 0, end = num_samples(limits); i < end; ++i) {
      look_at(i, end);
      if (looked_[0].samples > 0) return looked_[0].first;
    }
    return {};
  }

 private:
  int64_t num_samples(const CheckLimits& limits) const {
    int64_t most = std::max<int64_t>(1, limits.values / row_values_);
    return std::min({dataset_.size(), limits.samples, most});
  }

  // Many small questions would take a program longer than a few large ones.
  void prepare(int64_t index, int64_t end) {
    constexpr int64_t kTogether = 256;
    if (index % kTogether != 0) return;
    std::vector<int64_t> next;
    for (; next.size() < kTogether && index < end; ++index) {
      next.push_back(index);
    }
    dataset_.prepare(next, {});
  }

  void look_at(int64_t index, int64_t end) {
    prepare(index, end);
    dataset_.read(index, {}, out_);
    for (Looked& looked : looked_) {
      DType dtype = dataset_.fields()[looked.field].dtype;
      std::string problem =
          problem_of(bytes_[looked.field], dtype, looked.range);
      if (problem.empty()) continue;
      if (looked.samples++ > 0) continue;
      looked.first = fmt::format("{} holds {}",
                                 dataset_.place(looked.field, index), problem);
    }
  }

  bool is_float(const Looked& looked) const {
    return is_floating(dataset_.fields()[looked.field].dtype);
  }

  std::string words(const Looked& looked) const {
    std::string more = looked.samples > 1
                           ? fmt::format(" (and {} more)", looked.samples - 1)
                           : "";
    return fmt::format("field '{}': {}{}", dataset_.fields()[looked.field].name,
                       looked.first, more);
  }

  std::string note() const {
    std::string text;
    for (const Looked& looked : looked_) {
      if (looked.samples == 0 || !is_float(looked)) continue;
      text += (text.empty() ? "" : "; ") + words(looked);
    }
    return text;
  }

  void fail_for_problems(const DataCheck& check) const {
    std::string problems;
    bool has_floats = false, has_indices = false;
    for (const Looked& looked : looked_) {
      bool is_noted = is_float(looked) && non_finite_ != NonFinite::kRefuse;
      if (looked.samples == 0 || is_noted) continue;
      problems += "\n  " + words(looked);
      (is_float(looked) ? has_floats : has_indices) = true;
    }
    if (problems.empty()) return;
    std::string hints;
    if (has_indices) {
      hints +=
          "\nHINT: classes and tokens are counted from 0, as far as the "
          "model has outputs or entries for them";
    }
    if (has_floats) {
      hints +=
          "\nHINT: leave such samples out or fill them; "
          "'allow_nan: true' beside the source lets them through";
    }
    fail_world(
        "[data] the data hold what cannot be learned from ({} were looked "
        "at):{}{}",
        checked_text(check), problems, hints);
  }

  const data::Dataset& dataset_;
  NonFinite non_finite_;
  std::vector<std::vector<std::byte>> bytes_;  // of one sample, by field
  std::vector<std::byte*> out_;
  std::vector<Looked> looked_;
  int64_t row_values_ = 0;
};

}  // namespace

void add_inputs(ModelInputs& inputs, const Graph& forward) {
  auto ranges = index_ranges(forward);
  for (ValueId id : forward.inputs()) {
    const std::string& name = forward.value(id).name;
    std::optional<IndexRange>& known = inputs[name];
    auto range = ranges.find(name);
    if (range == ranges.end()) continue;
    known = known ? both(*known, range->second) : range->second;
  }
}

DataCheck check_values(
    const data::Dataset& dataset, const ModelInputs& inputs,
    const std::function<std::string(const std::string&)>& argument,
    NonFinite non_finite, const CheckLimits& limits) {
  Check check(dataset, non_finite);
  for (size_t i = 0; i < dataset.fields().size(); ++i) {
    auto input = inputs.find(argument(dataset.fields()[i].name));
    if (input != inputs.end()) check.add(i, input->second);
  }
  return check.run(limits);
}

std::string first_outside(const data::Dataset& dataset, size_t field,
                          const IndexRange& range, const CheckLimits& limits) {
  Check check(dataset, NonFinite::kAllow);
  check.add(field, range);
  return check.first_problem(limits);
}

std::string checked_text(const DataCheck& check) {
  if (check.samples == check.size) {
    return fmt::format("all {} samples", check.size);
  }
  return fmt::format("the first {} of {} samples", check.samples, check.size);
}

}  // namespace braid::train
