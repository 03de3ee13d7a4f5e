// RocAreas: areas under ROC curves, exact for any number of scores.
//
// The area is the share of pairs of a positive and a negative in which the
// positive has the higher score, a tie being half a pair; so it needs all
// scores in order. It holds up to `most_held` numbers; beyond that sorted runs
// of them go to one temporary file of 8 bytes per score, and are merged at the
// end.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

namespace braid::train {

class RocAreas {
 public:
  static constexpr int64_t kMostHeld = int64_t{1} << 22;  // 32 MiB

  explicit RocAreas(int64_t num_curves, int64_t most_held = kMostHeld);

  // Throws std::runtime_error when the disk is full.
  void add(int64_t curve, double score, bool is_positive);

  int64_t num_curves() const { return static_cast<int64_t>(has_nan_.size()); }
  // NaN where all are of one kind, as scikit-learn has it, or a score is no
  // number.
  double area(int64_t curve);
  // The mean of all curves; NaN when one of them is.
  double mean_area();

 private:
  struct Run {
    int64_t offset = 0, count = 0;  // numbers in the file
  };
  // Scores of one curve and one kind.
  struct List {
    std::vector<double> held;
    std::vector<Run> runs = {};
  };
  class Reader;
  class Merger;

  List& list(int64_t curve, bool is_positive);
  void spill();

  std::vector<List> lists_;  // by curve, negatives before positives
  std::vector<bool> has_nan_;
  int64_t most_held_ = 0, held_ = 0, written_ = 0;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace braid::train
