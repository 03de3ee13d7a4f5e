#include "braid/plan/solve/relaxation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "braid/plan/solve/replay.h"

namespace braid::plan {
namespace {

constexpr int kStages = 5;
// The first stages are soon at their end.
constexpr int kShares[kStages] = {1, 1, 2, 2, 2};
constexpr int kAllShares = 8;
// Softness at the first and at the last stage, of a typical slot; of the first
// run and of those after it.
constexpr double kSoftness[2][2] = {{0.12, 0.012}, {0.02, 0.004}};
constexpr double kTiny = 1e-30;
constexpr double kMostCost = 1e6;  // of the first guess

double to_double(int64_t number) { return static_cast<double>(number); }

// The most a limit can matter: all rows at their largest.
double largest_sum(const Instance& instance, const auto& fields) {
  double sum = 0;
  for (const SegmentModes& segment : instance.segments) {
    double most = 0;
    for (const Mode& mode : segment.modes) {
      double own = 0;
      for (const ModeField& field : fields) own += to_double(mode.*(field.at));
      most = std::max(most, own);
    }
    sum += most;
  }
  for (const Edge& edge : instance.edges) sum += to_double(edge.bytes);
  return sum;
}

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

Relaxation::Relaxation(const Instance& instance, const Rows& rows, int depth)
    : instance_(instance),
      rows_(rows),
      depth_(depth),
      n_(instance.num_segments()),
      slots_(instance.num_slots()),
      graph_(instance, depth),
      device_limit_(to_double(instance.device_bytes)),
      host_limit_(to_double(instance.host_bytes)) {
  double work = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    begin_.push_back(numbers_.size());
    for (int32_t row : rows[i]) {
      const Mode& mode = instance.mode(static_cast<int>(i), row);
      Numbers made;
      for (size_t k = 0; k < kTimes; ++k) {
        made[k] = to_double(mode.*(kTimeFields[k].at));
      }
      for (size_t k = 0; k < kBytes; ++k) {
        made[kTimes + k] = to_double(mode.*(kByteFields[k].at));
      }
      made[kHost] = to_double(mode.host);
      work += std::accumulate(made.begin(), made.begin() + kTimes, 0.0) /
              double(rows[i].size());
      numbers_.push_back(made);
    }
  }
  begin_.push_back(numbers_.size());
  slot_ns_ = std::max(work / (2.0 * n_), 1e-3);
  double most_bytes = largest_sum(instance, kByteFields);
  double most_host =
      largest_sum(instance, std::array<ModeField, 1>{kHostField});
  is_limited_ = most_bytes > device_limit_;
  is_host_limited_ = most_host > host_limit_;
  cost_ = is_limited_ ? 2 * work / std::max(most_bytes, 1.0) : 0;
  host_cost_ = is_host_limited_ ? 2 * work / std::max(most_host, 1.0) : 0;
  first_cost_ = cost_;
  first_host_cost_ = host_cost_;
  edge_bytes_.assign(size_t(slots_), 0);
  for (const Edge& e : instance.edges) {
    for (int p = e.from; p <= e.to; ++p) {
      edge_bytes_[size_t(p)] += to_double(e.bytes);
      edge_bytes_[size_t(slots_ - 1 - p)] += to_double(e.bytes);
    }
  }
  for (const EventGraph::Node& node : graph_.nodes()) {
    int i = segment_of_slot(node.event.slot, n_);
    field_of_node_.push_back(
        node.time < 0 ? -1 : i * static_cast<int>(kFields) + node.time);
  }
  mixed_.resize(size_t(n_));
  value_.resize(graph_.nodes().size());
  share_.resize(graph_.nodes().size());
  point_.arcs.resize(graph_.nodes().size());
  point_.weights.resize(size_t(n_));
  point_.prices.assign(size_t(slots_), 0);
  x_.assign(numbers_.size(), 0);
  spread(x_, 1);
  best_ = point_;
  mix(x_);
  tau_ = kSoftness[0][0] * slot_ns_;
  value();
  find_duals();
  offer(point_);
}

void Relaxation::start_from(const Relaxation& other) {
  for (size_t i = 0; i < rows_.size(); ++i) take_fractions(other, i);
  cost_ = other.cost_;
  host_cost_ = other.host_cost_;
}

// Of the rows that there are here, too.
void Relaxation::take_fractions(const Relaxation& other, size_t i) {
  double sum = 0;
  for (size_t k = 0; k < rows_[i].size(); ++k) {
    double& own = x_[begin_[i] + k];
    auto there = std::ranges::find(other.rows_[i], rows_[i][k]);
    auto at = other.begin_[i] + size_t(there - other.rows_[i].begin());
    own = 1e-3 + (there == other.rows_[i].end() ? 0 : other.x_[at]);
    sum += own;
  }
  for (size_t k = 0; k < rows_[i].size(); ++k) x_[begin_[i] + k] /= sum;
}

void Relaxation::run(int64_t steps) {
  if (best_bound_ > target_) return;
  descend(steps);
  scale_prices();
}

// Takes so much of the fractions away and gives it to all rows alike: none is
// out of reach.
void Relaxation::spread(Vector& fractions, double share) const {
  for (size_t i = 0; i + 1 < begin_.size(); ++i) {
    double each = share / double(begin_[i + 1] - begin_[i]);
    for (size_t r = begin_[i]; r < begin_[i + 1]; ++r) {
      fractions[r] = fractions[r] * (1 - share) + each;
    }
  }
}

void Relaxation::descend(int64_t steps) {
  auto [softest, hardest] = kSoftness[has_run_ ? 1 : 0];
  has_run_ = true;
  for (int stage = 0; stage < kStages; ++stage) {
    double at = double(stage) / (kStages - 1);
    tau_ = slot_ns_ * softest * std::pow(hardest / softest, at);
    int64_t own = steps * kShares[stage] / kAllShares;
    if (own == 0) continue;
    spread(x_, 1e-3);
    Vector z = x_;
    Point mean = point_;
    double theta = 1, last = 1e300;
    for (int64_t k = 0; k < own; ++k) {
      if (!step(&theta, z, mean, &last)) {
        z = x_;
        theta = 1;
        last = 1e300;
      }
      if (k % 8 == 7) offer(mean);
      if (k % 32 == 31 || k + 1 == own) join(mean);
      if (best_bound_ > target_) return;
    }
  }
}

// One step of accelerated descent by entropy. False: begin anew from here.
bool Relaxation::step(double* theta, Vector& z, Point& mean, double* last) {
  for (size_t r = 0; r < x_.size(); ++r) {
    y_.resize(x_.size());
    y_[r] = (1 - *theta) * x_[r] + *theta * z[r];
  }
  mix(y_);
  double here = value();
  find_duals();
  double bound = bound_of(point_, &costs_);
  if (bound > best_bound_) {
    best_bound_ = bound;
    best_ = point_;
  }
  average(mean, point_, *theta);
  double moved = 0, distance = 0, there = 0;
  new_x_.resize(x_.size());
  if (rate_ == 0) rate_ = slot_ns_;
  for (int attempt = 0; attempt < 30; ++attempt) {
    next_z(z, *theta * rate_, new_z_, &distance);
    moved = 0;
    for (size_t r = 0; r < x_.size(); ++r) {
      moved += costs_[r] * (new_z_[r] - z[r]);
      new_x_[r] = (1 - *theta) * x_[r] + *theta * new_z_[r];
    }
    mix(new_x_);
    there = value();
    double most = here + *theta * moved + *theta * *theta * rate_ * distance;
    if (there <= most + 1e-9 * std::abs(here)) break;
    rate_ *= 2;
  }
  x_.swap(new_x_);
  z.swap(new_z_);
  double before = *theta * *theta * rate_;
  rate_ = std::max(rate_ * 0.8, 1e-6 * slot_ns_);
  double a = before / rate_;
  *theta = (std::sqrt(a * a + 4 * a) - a) / 2;
  double cost = cost_, host_cost = host_cost_;
  if (++since_adapted_ >= 10) adapt_costs();
  bool is_same = cost == cost_ && host_cost == host_cost_;
  bool falls = there <= *last;
  *last = there;
  return is_same && falls;
}

// Fractions that follow the costs by so much, and how far they are.
void Relaxation::next_z(const Vector& z, double rate, Vector& made,
                        double* distance) {
  made.resize(z.size());
  *distance = 0;
  for (size_t i = 0; i + 1 < begin_.size(); ++i) {
    size_t begin = begin_[i], end = begin_[i + 1];
    double least = *std::min_element(costs_.begin() + ptrdiff_t(begin),
                                     costs_.begin() + ptrdiff_t(end));
    double sum = 0, weighted = 0;
    for (size_t r = begin; r < end; ++r) {
      double fall = (costs_[r] - least) / rate;
      made[r] = std::max(fall > 80 ? 0 : z[r] * std::exp(-fall), kTiny);
      sum += made[r];
      weighted += made[r] * fall;
    }
    for (size_t r = begin; r < end; ++r) made[r] /= sum;
    *distance += std::max(-weighted / sum - std::log(sum), 0.0);
  }
}

void Relaxation::mix(const Vector& fractions) {
  for (size_t i = 0; i + 1 < begin_.size(); ++i) {
    Numbers sum = {};
    for (size_t r = begin_[i]; r < begin_[i + 1]; ++r) {
      if (fractions[r] < 1e-12) continue;
      for (size_t k = 0; k < kFields; ++k) {
        sum[k] += fractions[r] * numbers_[r][k];
      }
    }
    mixed_[i] = sum;
  }
}

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

// Prices that take all they may are too cheap; those that take little make the
// objective steeper than it must be.
void Relaxation::adapt_costs() {
  since_adapted_ = 0;
  auto adapt = [](bool is_limited, double use, double first, double* cost) {
    if (!is_limited) return;
    if (use > 0.85 && *cost < kMostCost * first) *cost *= 2;
    if (use < 0.05 && *cost * kMostCost > first) *cost *= 0.5;
  };
  adapt(is_limited_, price_use_, first_cost_, &cost_);
  adapt(is_host_limited_, host_use_, first_host_cost_, &host_cost_);
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

Duals Relaxation::duals() const {
  Shares shares = best_.arcs;
  const auto& nodes = graph_.nodes();
  for (size_t v = 0; v < shares.size(); ++v) {
    double sum = 0;
    auto count = static_cast<size_t>(nodes[v].num_before);
    for (size_t k = 0; k < count; ++k) sum += shares[v][k];
    for (size_t k = 0; k < count; ++k) {
      shares[v][k] = sum > 0 ? shares[v][k] / sum : 1.0 / double(count);
    }
  }
  return whole_duals(graph_, depth_, shares, best_.prices, best_.host_price);
}

double Relaxation::price_sum() const {
  return std::accumulate(best_.prices.begin(), best_.prices.end(), 0.0);
}

std::vector<std::vector<double>> Relaxation::fractions() const {
  std::vector<std::vector<double>> made;
  for (size_t i = 0; i + 1 < begin_.size(); ++i) {
    made.emplace_back(x_.begin() + ptrdiff_t(begin_[i]),
                      x_.begin() + ptrdiff_t(begin_[i + 1]));
  }
  return made;
}

}  // namespace braid::plan
