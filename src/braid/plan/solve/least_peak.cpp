#include "braid/plan/solve/least_peak.h"

#include <algorithm>
#include <cmath>

#include "braid/plan/solve/branch.h"
#include "braid/plan/solve/evaluator.h"
#include "braid/plan/solve/replay.h"

namespace braid::plan {
namespace {

constexpr int kMostProved = 10;          // segments
constexpr int64_t kLooks = 2'000'000;    // of a proof
constexpr int64_t kPriceOne = 1 << 20;   // what prices of all slots sum up to

using Wide = __int128;

// The bytes of a row in each slot, as a sum weighted by prices.
class PricedBytes {
 public:
  PricedBytes(const Instance& instance, int depth,
              const std::vector<int64_t>& prices)
      : slots_(instance.num_slots()), depth_(depth), sums_{0} {
    for (int64_t price : prices) sums_.push_back(sums_.back() + price);
  }

  Wide of(int i, const Mode& mode) const {
    int back = slots_ - 1 - i, d = depth_;
    return range(0, slots_ - 1, mode.res) + range(i, back, mode.keep) +
           range(i - d, i, mode.wf) + range(back - d, back, mode.wb) +
           range(i + 1, i + d, mode.lf) + range(back + 1, back + d, mode.lb) +
           range(i, i, mode.xf) + range(back, back, mode.xb) +
           range(back + 1, slots_ - 1, mode.grad);
  }
  Wide of(const Edge& e) const {
    return range(e.from, e.to, e.bytes) +
           range(slots_ - 1 - e.to, slots_ - 1 - e.from, e.bytes);
  }

 private:
  Wide range(int first, int last, int64_t bytes) const {
    first = std::max(first, 0);
    last = std::min(last, slots_ - 1);
    if (first > last) return 0;
    return Wide{bytes} * (sums_[size_t(last) + 1] - sums_[size_t(first)]);
  }
  int slots_, depth_;
  std::vector<int64_t> sums_;
};

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
    std::vector<double> heights(size_t(instance_.num_slots()), 0);
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
    double most = *std::ranges::max_element(heights), sum = 0;
    std::vector<double> soft;
    for (double height : heights) {
      soft.push_back(std::exp(std::max(height - most, -60.0)));
      sum += soft.back();
    }
    std::vector<int64_t> prices;
    int64_t total = 0;
    for (double price : soft) {
      prices.push_back(int64_t(price / sum * double(kPriceOne)));
      total += prices.back();
    }
    PricedBytes bytes(instance_, found_.depth, prices);
    Wide bound = 0;
    std::vector<int32_t> cheapest;
    for (int i = 0; i < instance_.num_segments(); ++i) {
      const auto& rows = rows_[size_t(i)];
      auto price = [&](int32_t row) {
        return bytes.of(i, instance_.mode(i, row));
      };
      int32_t row = *std::ranges::min_element(rows, {}, price);
      bound += price(row);
      cheapest.push_back(row);
    }
    for (const Edge& edge : instance_.edges) bound += bytes.of(edge);
    // Prices sum up to `total`, so some slot has at least this much.
    auto whole = static_cast<int64_t>((bound + total - 1) / total);
    found_.bound_bytes = std::max(found_.bound_bytes, whole);
    plan_.assign(cheapest);
    take();
    double scale = length / double(std::max(found_.peak_bytes, int64_t{1}));
    for (int p = 0; p < instance_.num_slots(); ++p) {
      heights[size_t(p)] += scale * double(plan_.bytes_in(p));
    }
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
    bool is_proved = branch_on_peak(instance_, rows_, found_.depth,
                                    &found_.peak_bytes, &found_.modes, &looks);
    if (is_proved) found_.bound_bytes = found_.peak_bytes;
  }

  const Instance& instance_;
  const Rows& rows_;
  LeastPeak found_;
  Evaluator plan_;
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
