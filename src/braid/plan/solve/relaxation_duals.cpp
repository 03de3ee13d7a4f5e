// The smoothed objective of a Relaxation, the duals that are its derivative,
// and what they bound.
#include <algorithm>
#include <cmath>

#include "braid/plan/solve/relaxation.h"

namespace braid::plan {
namespace {

// Sums over ranges of slots.
class RangeSums {
 public:
  explicit RangeSums(const std::vector<double>& values) {
    sums_.reserve(values.size() + 1);
    sums_.push_back(0);
    for (double value : values) sums_.push_back(sums_.back() + value);
  }
  double of(int first, int last) const {
    int end = static_cast<int>(sums_.size()) - 1;
    first = std::max(first, 0);
    last = std::min(last, end - 1);
    return first > last ? 0 : sums_[size_t(last) + 1] - sums_[size_t(first)];
  }

 private:
  std::vector<double> sums_;
};

}  // namespace

double Relaxation::value() { return time_value() + bytes_value(); }

double Relaxation::time_value() {
  const auto& nodes = graph_.nodes();
  const double* mixed = mixed_.front().data();
  double per_tau = 1 / tau_;
  for (size_t v = 0; v < nodes.size(); ++v) {
    const EventGraph::Node& node = nodes[v];
    auto& share = share_[v];
    double soft = 0;
    if (node.num_before > 0) soft = value_[size_t(node.before[0])];
    share[0] = 1;
    for (size_t k = 1; k < size_t(node.num_before); ++k) {
      double other = value_[size_t(node.before[k])];
      double apart = (other - soft) * per_tau;
      double part = 0;  // of the other
      if (apart > 30) {
        soft = other;
        part = 1;
      } else if (apart > -30) {
        double ratio = std::exp(-std::abs(apart));
        part = (apart > 0 ? 1 : ratio) / (1 + ratio);
        soft = std::max(soft, other) + tau_ * std::log1p(ratio);
      }
      for (size_t j = 0; j < k; ++j) share[j] *= 1 - part;
      share[k] = part;
    }
    int32_t field = field_of_node_[v];
    value_[v] = soft + (field < 0 ? 0 : mixed[field]);
  }
  return value_.back();
}

// What `over` bytes more than there may be cost at most 1 each; its slope.
double Relaxation::soft_limit(double over, double softness,
                              double* slope) const {
  double at = over / softness;
  *slope = at > 40 ? 1 : at < -40 ? 0 : 1 / (1 + std::exp(-at));
  return at > 40 ? over : softness * std::log1p(std::exp(at));
}

double Relaxation::bytes_value() {
  double sum = 0, soft_ns = tau_ * n_ / 8;
  point_.host_price = 0;
  if (is_host_limited_) {
    double host = 0, slope = 0;
    for (const Numbers& numbers : mixed_) host += numbers[kHost];
    sum += host_cost_ *
           soft_limit(host - host_limit_, soft_ns / host_cost_, &slope);
    host_use_ = slope;
    point_.host_price = host_cost_ * slope;
  }
  if (!is_limited_) return sum;
  mem_.assign(size_t(slots_) + 1, 0);
  auto add = [&](int first, int last, double bytes) {
    if (bytes == 0) return;
    first = std::max(first, 0);
    last = std::min(last, slots_ - 1);
    if (first > last) return;
    mem_[size_t(first)] += bytes;
    mem_[size_t(last) + 1] -= bytes;
  };
  for (int i = 0; i < n_; ++i) {
    const double* b = mixed_[size_t(i)].data() + kTimes;
    int back = slots_ - 1 - i, d = depth_;
    add(0, slots_ - 1, b[0]);
    add(i, back, b[1]);
    add(i - d, i, b[2]);
    add(back - d, back, b[3]);
    add(i + 1, i + d, b[4]);
    add(back + 1, back + d, b[5]);
    add(i, i, b[6]);
    add(back, back, b[7]);
    add(back + 1, slots_ - 1, b[8]);
  }
  double running = 0, most = -1e300;
  for (size_t p = 0; p < size_t(slots_); ++p) {
    running += mem_[p];
    mem_[p] = running + edge_bytes_[p];
    most = std::max(most, mem_[p]);
  }
  double softness = soft_ns / cost_, total = 0, slope = 0;
  for (size_t p = 0; p < size_t(slots_); ++p) {
    double below = (most - mem_[p]) / softness;
    point_.prices[p] = below > 40 ? 0 : std::exp(-below);
    total += point_.prices[p];
  }
  most += softness * std::log(total);
  sum += cost_ * soft_limit(most - device_limit_, softness, &slope);
  price_use_ = slope;
  for (double& price : point_.prices) price *= cost_ * slope / total;
  return sum;
}

// The flow that the shares make, and all that follows from it and the prices.
void Relaxation::find_duals() {
  const auto& nodes = graph_.nodes();
  Vector& flow = value_;  // its values are not needed any more
  std::fill(flow.begin(), flow.end(), 0);
  flow.back() = 1;
  for (auto& weights : point_.weights) weights = {};
  double* weights = point_.weights.front().data();
  for (size_t v = nodes.size(); v-- > 0;) {
    double passing = flow[v];
    if (field_of_node_[v] >= 0) weights[field_of_node_[v]] += passing;
    for (size_t k = 0; k < size_t(nodes[v].num_before); ++k) {
      double part = passing * share_[v][k];
      point_.arcs[v][k] = part;
      flow[size_t(nodes[v].before[k])] += part;
    }
  }
  find_weights();
}

void Relaxation::find_weights() {
  point_.constant = -point_.host_price * host_limit_;
  if (!is_host_limited_) point_.constant = 0;
  for (Numbers& weights : point_.weights) weights[kHost] = point_.host_price;
  if (!is_limited_) return;
  RangeSums prices(point_.prices);
  for (int i = 0; i < n_; ++i) {
    double* b = point_.weights[size_t(i)].data() + kTimes;
    int back = slots_ - 1 - i, d = depth_;
    b[0] = prices.of(0, slots_ - 1);
    b[1] = prices.of(i, back);
    b[2] = prices.of(i - d, i);
    b[3] = prices.of(back - d, back);
    b[4] = prices.of(i + 1, i + d);
    b[5] = prices.of(back + 1, back + d);
    b[6] = prices.of(i, i);
    b[7] = prices.of(back, back);
    b[8] = prices.of(back + 1, slots_ - 1);
  }
  for (size_t p = 0; p < size_t(slots_); ++p) {
    point_.constant += point_.prices[p] * (edge_bytes_[p] - device_limit_);
  }
}

double Relaxation::bound_of(const Point& point, Vector* costs) const {
  double bound = point.constant;
  if (costs) costs->resize(numbers_.size());
  for (size_t i = 0; i + 1 < begin_.size(); ++i) {
    const Numbers& weights = point.weights[i];
    double least = 1e300;
    for (size_t r = begin_[i]; r < begin_[i + 1]; ++r) {
      double cost = 0;
      for (size_t k = 0; k < kFields; ++k) cost += weights[k] * numbers_[r][k];
      if (costs) (*costs)[r] = cost;
      least = std::min(least, cost);
    }
    bound += least;
  }
  return bound;
}

void Relaxation::offer(const Point& point) {
  double bound = bound_of(point, nullptr);
  if (bound <= best_bound_) return;
  best_bound_ = bound;
  best_ = point;
}

double Relaxation::bound_between(const Point& a, const Point& b,
                                 double share) const {
  double bound = a.constant + share * (b.constant - a.constant);
  for (size_t i = 0; i + 1 < begin_.size(); ++i) {
    Numbers weights;
    for (size_t k = 0; k < kFields; ++k) {
      double from = a.weights[i][k];
      weights[k] = from + share * (b.weights[i][k] - from);
    }
    double least = 1e300;
    for (size_t r = begin_[i]; r < begin_[i + 1]; ++r) {
      double cost = 0;
      for (size_t k = 0; k < kFields; ++k) cost += weights[k] * numbers_[r][k];
      least = std::min(least, cost);
    }
    bound += least;
  }
  return bound;
}

// The best mix of the best duals and these: the bound is concave between them.
void Relaxation::join(const Point& point) {
  double low = 0, high = 1, best = 0, bound = best_bound_;
  for (int k = 0; k < 10; ++k) {
    double a = low + (high - low) * 0.4, b = low + (high - low) * 0.6;
    double at_a = bound_between(best_, point, a);
    double at_b = bound_between(best_, point, b);
    double higher = std::max(at_a, at_b), share = at_a < at_b ? b : a;
    if (higher > bound) {
      bound = higher;
      best = share;
    }
    (at_a < at_b ? low : high) = at_a < at_b ? a : b;
  }
  if (best == 0) return;
  average(best_, point, best);
  best_bound_ = bound_of(best_, nullptr);
}

void Relaxation::average(Point& mean, const Point& point, double share) {
  auto mix = [share](double& to, double from) { to += share * (from - to); };
  for (size_t v = 0; v < mean.arcs.size(); ++v) {
    for (size_t k = 0; k < mean.arcs[v].size(); ++k) {
      mix(mean.arcs[v][k], point.arcs[v][k]);
    }
  }
  for (size_t i = 0; i < mean.weights.size(); ++i) {
    for (size_t k = 0; k < kFields; ++k) {
      mix(mean.weights[i][k], point.weights[i][k]);
    }
  }
  for (size_t p = 0; p < mean.prices.size(); ++p) {
    mix(mean.prices[p], point.prices[p]);
  }
  mix(mean.host_price, point.host_price);
  mix(mean.constant, point.constant);
}

// The bound is concave along a scale of all prices.
void Relaxation::scale_prices() {
  if (!is_limited_ && !is_host_limited_) return;
  auto scaled = [&](double by) {
    Point made = best_;
    for (Numbers& weights : made.weights) {
      for (size_t k = kTimes; k < kFields; ++k) weights[k] *= by;
    }
    for (double& price : made.prices) price *= by;
    made.host_price *= by;
    made.constant *= by;
    return made;
  };
  double low = 0.5, high = 2;
  for (int k = 0; k < 12; ++k) {
    double a = low + (high - low) / 3, b = high - (high - low) / 3;
    Point at_a = scaled(a), at_b = scaled(b);
    bool rises = bound_of(at_a, nullptr) < bound_of(at_b, nullptr);
    (rises ? low : high) = rises ? a : b;
    offer(rises ? at_b : at_a);
  }
}

}  // namespace braid::plan
