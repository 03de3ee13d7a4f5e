#include "braid/plan/solve/least_peak.h"

#include <algorithm>
#include <cmath>

#include "braid/plan/solve/branch.h"
#include "braid/plan/solve/evaluator.h"
#include "braid/plan/solve/replay.h"

namespace braid::plan {
namespace {

constexpr int kMostProved = 10;         // segments
constexpr int64_t kLooks = 2'000'000;   // of a proof
constexpr int64_t kPriceOne = 1 << 20;  // what prices of all slots sum up to
constexpr int64_t kMostHostPrice = int64_t{1} << 60;

using Wide = __int128;

// Sums of prices over ranges of slots.
class RangePrices {
 public:
  explicit RangePrices(const std::vector<int64_t>& prices) : sums_{0} {
    for (int64_t price : prices) sums_.push_back(sums_.back() + price);
  }
  int64_t total() const { return sums_.back(); }

  // Of so many bytes from slot `first` to slot `last`.
  Wide of(int first, int last, int64_t bytes) const {
    first = std::max(first, 0);
    last = std::min(last, static_cast<int>(sums_.size()) - 2);
    if (first > last) return 0;
    return Wide{bytes} * (sums_[size_t(last) + 1] - sums_[size_t(first)]);
  }

 private:
  std::vector<int64_t> sums_;
};

// What a row of segment i costs in all slots.
Wide row_price(const RangePrices& prices, int slots, int d, int i,
               const Mode& m) {
  int back = slots - 1 - i;
  return prices.of(0, slots - 1, m.res) + prices.of(i, back, m.keep) +
         prices.of(i - d, i, m.wf) + prices.of(back - d, back, m.wb) +
         prices.of(i + 1, i + d, m.lf) + prices.of(back + 1, back + d, m.lb) +
         prices.of(i, i, m.xf) + prices.of(back, back, m.xb) +
         prices.of(back + 1, slots - 1, m.grad);
}

// Prices of bytes in each slot and on the host, and what follows: some slot of
// any plan has at least (least costs + constant) / total bytes.
PeakPrices price_rows(const Instance& instance, int depth,
                      const std::vector<int64_t>& slots, int64_t host) {
  RangePrices prices(slots);
  int end = instance.num_slots();
  PeakPrices made{.total = prices.total()};
  for (int i = 0; i < instance.num_segments(); ++i) {
    made.costs.emplace_back();
    for (const Mode& mode : instance.segments[size_t(i)].modes) {
      made.costs.back().push_back(row_price(prices, end, depth, i, mode) +
                                  Wide{host} * mode.host);
    }
  }
  for (const Edge& e : instance.edges) {
    made.constant += prices.of(e.from, e.to, e.bytes) +
                     prices.of(end - 1 - e.to, end - 1 - e.from, e.bytes);
  }
  if (host > 0) made.constant -= Wide{host} * instance.host_bytes;
  return made;
}

std::vector<int32_t> least_host_rows(const Instance& instance) {
  std::vector<int32_t> modes;
  for (const SegmentModes& segment : instance.segments) {
    auto least = std::ranges::min_element(segment.modes, {}, &Mode::host);
    modes.push_back(static_cast<int32_t>(least - segment.modes.begin()));
  }
  return modes;
}

class Search {
 public:
  Search(const Instance& instance, const Rows& rows)
      : instance_(instance),
        rows_(rows),
        found_{.depth = instance.depths.front()},
        plan_(instance, found_.depth) {}

  LeastPeak run(int64_t steps) {
    std::vector<int32_t> start = least_host_rows(instance_);
    plan_.assign(start);
    if (plan_.host() > instance_.host_bytes) return found_;
    take();
    // One more for the host.
    std::vector<double> heights(size_t(instance_.num_slots()) + 1, 0);
    for (int64_t k = 0; k < steps && found_.bound_bytes < found_.peak_bytes;
         ++k) {
      follow(heights, 4.0 / std::sqrt(1.0 + double(k)));
    }
    improve();
    prove();
    return found_;
  }

 private:
  void take() {
    if (plan_.host() > instance_.host_bytes) return;
    if (found_.is_found && plan_.peak() >= found_.peak_bytes) return;
    found_.is_found = true;
    found_.modes = plan_.modes();
    found_.peak_bytes = plan_.peak();
  }

  // One step of prices: those of high slots grow. The rows that are cheapest
  // then bound the peak, and their bytes are the next heights.
  void follow(std::vector<double>& heights, double length) {
    std::vector<double> shares = soft_shares(heights);
    std::vector<int64_t> prices;
    for (size_t p = 0; p + 1 < shares.size(); ++p) {
      prices.push_back(int64_t(shares[p] * double(kPriceOne)));
    }
    double peak = double(std::max(found_.peak_bytes, int64_t{1}));
    double host = double(std::max(instance_.host_bytes, int64_t{1}));
    double host_price = shares.back() * double(kPriceOne) * peak / host;
    PeakPrices made =
        price_rows(instance_, found_.depth, prices,
                   int64_t(std::min(host_price, double(kMostHostPrice))));
    if (made.total == 0) return;
    Wide sum = made.constant;
    std::vector<int32_t> cheapest;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const auto& costs = made.costs[i];
      cheapest.push_back(*std::ranges::min_element(
          rows_[i], {}, [&](int32_t row) { return costs[size_t(row)]; }));
      sum += costs[size_t(cheapest.back())];
    }
    // The peak that was found is one, so no bound is above it.
    Wide whole = std::clamp<Wide>((sum + made.total - 1) / made.total, 0,
                                  found_.peak_bytes);
    auto bound = static_cast<int64_t>(whole);
    if (bound > found_.bound_bytes || pool_.empty()) {
      found_.bound_bytes = std::max(found_.bound_bytes, bound);
      pool_ = {std::move(made)};
    }
    plan_.assign(cheapest);
    take();
    for (int p = 0; p < instance_.num_slots(); ++p) {
      heights[size_t(p)] += length / peak * double(plan_.bytes_in(p));
    }
    heights.back() += length / host * double(plan_.host());
  }

  std::vector<double> soft_shares(const std::vector<double>& heights) const {
    double most = *std::ranges::max_element(heights), sum = 0;
    std::vector<double> shares;
    for (double height : heights) {
      shares.push_back(std::exp(std::max(height - most, -60.0)));
      sum += shares.back();
    }
    for (double& share : shares) share /= sum;
    return shares;
  }

  // How many slots are nearly as high as the highest.
  double crowding() const {
    double least = 1 / double(std::max(plan_.peak(), int64_t{1})), sum = 0;
    for (int p = 0; p < instance_.num_slots(); ++p) {
      double share = double(plan_.bytes_in(p)) * least;
      share *= share;
      share *= share;
      share *= share;
      sum += share * share;
    }
    return sum;
  }

  // Single changes, as long as they help: a lower peak, or the same in fewer
  // slots.
  void improve() {
    plan_.assign(found_.modes);
    for (int round = 0; round < 8; ++round) {
      bool changed = false;
      for (int i = 0; i < instance_.num_segments(); ++i) {
        for (int32_t row : rows_[size_t(i)]) {
          if (row == plan_.mode(i)) continue;
          int64_t peak = plan_.peak();
          double before = crowding();
          plan_.set(i, row);
          bool fits = plan_.host() <= instance_.host_bytes;
          bool helps = plan_.peak() < peak ||
                       (plan_.peak() == peak && crowding() < before);
          if (fits && helps) {
            plan_.keep();
            changed = true;
          } else {
            plan_.undo();
          }
        }
      }
      take();
      if (!changed) return;
    }
  }

  void prove() {
    if (found_.is_proved() || instance_.num_segments() > kMostProved) return;
    int64_t looks = kLooks;
    bool is_proved = branch_on_peak(instance_, rows_, found_.depth, pool_,
                                    &found_.peak_bytes, &found_.modes, &looks);
    if (is_proved) found_.bound_bytes = found_.peak_bytes;
  }

  const Instance& instance_;
  const Rows& rows_;
  LeastPeak found_;
  Evaluator plan_;
  std::vector<PeakPrices> pool_;  // the best
};

}  // namespace

int64_t least_host_bytes(const Instance& instance) {
  int64_t sum = 0;
  std::vector<int32_t> modes = least_host_rows(instance);
  for (int i = 0; i < instance.num_segments(); ++i) {
    sum += instance.mode(i, modes[size_t(i)]).host;
  }
  return sum;
}

LeastPeak find_least_peak(const Instance& instance, const Rows& rows,
                          int64_t steps) {
  return Search(instance, rows).run(steps);
}

}  // namespace braid::plan
