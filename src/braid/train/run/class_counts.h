// ClassCounts: how often each class was meant, taken and right over an
// evaluation, and what follows from that.
//
// Values are those of scikit-learn: a share of nothing is 0, and means over
// classes are over those that occur among targets or decisions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace braid::train {

enum class ClassMean { kBinary, kMacro, kMicro, kWeighted };

// The most classes that a matrix is kept of.
inline constexpr int64_t kMostConfused = 1024;

class ClassCounts {
 public:
  // Without a matrix it takes three numbers per class, with one also the
  // square of their number.
  explicit ClassCounts(int64_t num_classes, bool keeps_matrix = false);

  // A decision; `taken` is -1 where no score was a number.
  void add(int64_t target, int64_t taken);

  int64_t num_classes() const { return static_cast<int64_t>(of_.size()); }
  int64_t num_targets() const { return targets_; }

  struct Counts {
    int64_t targets = 0, taken = 0, right = 0;

    double precision() const;
    double recall() const;
    double f1() const;
  };
  const Counts& of(int64_t c) const { return of_[static_cast<size_t>(c)]; }

  // "f1_macro", "precision", ...; NaN without any target.
  double value(const std::string& metric) const;

  bool has_matrix() const { return !matrix_.empty(); }
  // How often a target of class `target` was taken for `taken`.
  int64_t confused(int64_t target, int64_t taken) const;
  // The same without a decision.
  int64_t undecided(int64_t target) const;

 private:
  using Share = double (Counts::*)() const;
  double mean(Share share, ClassMean over) const;

  std::vector<Counts> of_;
  std::vector<int64_t> matrix_;  // [target, taken], or empty
  int64_t targets_ = 0;
};

}  // namespace braid::train
