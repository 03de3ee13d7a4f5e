#include "braid/train/run/class_counts.h"

#include <cmath>

#include "braid/base/error.h"

namespace braid::train {
namespace {

double share_of(int64_t part, int64_t whole) {
  if (whole == 0) return 0;
  return static_cast<double>(part) / static_cast<double>(whole);
}

ClassMean mean_of(const std::string& metric) {
  if (metric.ends_with("_macro")) return ClassMean::kMacro;
  if (metric.ends_with("_micro")) return ClassMean::kMicro;
  if (metric.ends_with("_weighted")) return ClassMean::kWeighted;
  return ClassMean::kBinary;
}

}  // namespace

ClassCounts::ClassCounts(int64_t num_classes, bool keeps_matrix)
    : of_(static_cast<size_t>(num_classes)) {
  if (keeps_matrix) {
    matrix_.resize(static_cast<size_t>(num_classes * num_classes));
  }
}

double ClassCounts::Counts::precision() const { return share_of(right, taken); }

double ClassCounts::Counts::recall() const { return share_of(right, targets); }

double ClassCounts::Counts::f1() const {
  return share_of(2 * right, taken + targets);
}

void ClassCounts::add(int64_t target, int64_t taken) {
  if (target < 0 || target >= num_classes() || taken >= num_classes()) {
    fail_usage("[metrics] expected classes from 0 to {}, got {}",
               num_classes() - 1, taken >= num_classes() ? taken : target);
  }
  ++targets_;
  ++of_[static_cast<size_t>(target)].targets;
  if (taken < 0) return;
  ++of_[static_cast<size_t>(taken)].taken;
  if (taken == target) ++of_[static_cast<size_t>(target)].right;
  if (!has_matrix()) return;
  ++matrix_[static_cast<size_t>(target * num_classes() + taken)];
}

int64_t ClassCounts::confused(int64_t target, int64_t taken) const {
  return matrix_.at(static_cast<size_t>(target * num_classes() + taken));
}

int64_t ClassCounts::undecided(int64_t target) const {
  int64_t left = of(target).targets;
  for (int64_t c = 0; c < num_classes(); ++c) left -= confused(target, c);
  return left;
}

double ClassCounts::mean(Share share, ClassMean over) const {
  if (over == ClassMean::kBinary) return (of(1).*share)();
  Counts all;
  double sum = 0, weighted = 0;
  int64_t present = 0;
  for (const Counts& counts : of_) {
    if (counts.targets + counts.taken == 0) continue;
    double value = (counts.*share)();
    ++present;
    sum += value;
    weighted += value * static_cast<double>(counts.targets);
    all.targets += counts.targets;
    all.taken += counts.taken;
    all.right += counts.right;
  }
  if (over == ClassMean::kMicro) return (all.*share)();
  return over == ClassMean::kMacro ? sum / static_cast<double>(present)
                                   : weighted / static_cast<double>(targets_);
}

double ClassCounts::value(const std::string& metric) const {
  if (targets_ == 0) return NAN;
  Share share = metric.starts_with("precision") ? &Counts::precision
                : metric.starts_with("recall")  ? &Counts::recall
                                                : &Counts::f1;
  return mean(share, mean_of(metric));
}

}  // namespace braid::train
