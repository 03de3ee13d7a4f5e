// Runs of members, alone or as an array, and how their results are compared
// (design rule 6).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "braid/runtime/cpu_backend.h"
#include "braid/train/trainer.h"
#include "train/batches.h"

namespace braid::train {

// Slots of one member by name, as numbers.
using Numbers = std::map<std::string, std::vector<double>>;

struct Member {
  int64_t seed = 0;
  int64_t data_seed = 0;
  std::map<std::string, double> hyper = {};  // "lr", "dropout", ...
};

struct MemberResult {
  std::vector<double> losses;                          // by step
  std::map<std::string, std::vector<std::byte>> bits;  // slots by name
  Numbers slots;
};

inline std::vector<double> numbers_of(const std::vector<std::byte>& bytes,
                                      DType dtype) {
  std::vector<double> values(bytes.size() /
                             static_cast<size_t>(item_bytes(dtype)));
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kFloat32) {
      values[i] = reinterpret_cast<const float*>(bytes.data())[i];
    } else if (dtype == DType::kFloat64) {
      values[i] = reinterpret_cast<const double*>(bytes.data())[i];
    } else {
      values[i] = static_cast<double>(
          reinterpret_cast<const int64_t*>(bytes.data())[i]);
    }
  }
  return values;
}

inline double scale_of(const std::vector<double>& values) {
  double most = 0;
  for (double v : values) most = std::max(most, std::abs(v));
  return most;
}

// The median over tensors of their largest number.
inline double median_scale(const Numbers& all) {
  std::vector<double> scales;
  for (const auto& [name, values] : all) scales.push_back(scale_of(values));
  std::nth_element(scales.begin(), scales.begin() + scales.size() / 2,
                   scales.end());
  return scales[scales.size() / 2];
}

inline double distance(const std::vector<double>& a,
                       const std::vector<double>& b) {
  double most = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    double d = std::abs(a[i] - b[i]);
    most = std::isnan(d) ? INFINITY : std::max(most, d);
  }
  return most;
}

// max |a - b| / max(max |b|, 1e-3 of the median scale).
inline double error_of(const Numbers& a, const Numbers& b,
                       const std::string& name) {
  double scale = std::max(scale_of(b.at(name)), 1e-3 * median_scale(b));
  double d = distance(a.at(name), b.at(name));
  return d == 0 ? 0 : d / scale;
}

}  // namespace braid::train
