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
