#include "braid/plan/solve/search.h"

#include <algorithm>
#include <cmath>

namespace braid::plan {

bool Incumbent::offer(Evaluator& plan) {
  if (!plan.fits() || (is_found && plan.time() >= time_ns)) return false;
  is_found = true;
  depth = plan.depth();
  time_ns = plan.time();
  modes = plan.modes();
  return true;
}

std::vector<int32_t> round_fractions(
    const Rows& rows, const std::vector<std::vector<double>>& fractions) {
  std::vector<int32_t> chosen;
  std::vector<double> owed;  // by mode: asked for so far, less what was given
  for (size_t i = 0; i < rows.size(); ++i) {
    owed.resize(std::max(owed.size(), size_t(rows[i].back()) + 1), 0);
    const auto& own = fractions[i];
    auto most = size_t(std::ranges::max_element(own) - own.begin());
    auto debt = [&](size_t k) -> double& { return owed[size_t(rows[i][k])]; };
    for (size_t k = 0; k < own.size(); ++k) debt(k) += own[k];
    // Only rows that the fractions of this segment have.
    for (size_t k = 0; k < own.size(); ++k) {
      if (own[k] > 1e-3 && debt(k) > debt(most)) most = k;
    }
    debt(most) -= 1;
    chosen.push_back(rows[i][most]);
  }
  return chosen;
}

void climb(Evaluator& plan, const Rows& rows) {
  constexpr int kMostRounds = 4;
  for (int round = 0; round < kMostRounds; ++round) {
    bool changed = false;
    for (int i = 0; i < static_cast<int>(rows.size()); ++i) {
      int64_t before = plan.time();
      for (int32_t row : rows[size_t(i)]) {
        plan.set(i, row);
        if (plan.fits() && plan.time() < before) {
          plan.keep();
          before = plan.time();
          changed = true;
        } else {
          plan.undo();
        }
      }
    }
    if (!changed) return;
  }
}

namespace {

// How far a plan is above the limits. Slots below the peak count a little, so
// that there is a way down where many slots are equally high.
class Excess {
 public:
  explicit Excess(const Instance& instance) : instance_(instance) {}

  double of(const Evaluator& plan) const {
    double host = above(plan.host(), instance_.host_bytes);
    double most = 0, sum = 0;
    for (int p = 0; p < instance_.num_slots(); ++p) {
      double over = above(plan.bytes_in(p), instance_.device_bytes);
      most = std::max(most, over);
      sum += over;
    }
    return most + host + 1e-3 * sum / instance_.num_slots();
  }

 private:
  static double above(int64_t bytes, int64_t limit) {
    return bytes > limit ? static_cast<double>(bytes - limit) : 0;
  }
  const Instance& instance_;
};

// Finds the change with the least time per byte. Prices of changes grow old as
// the plan changes: only the most promising are asked anew.
class Descent {
 public:
  Descent(Evaluator& plan, const Rows& rows)
      : plan_(plan), excess_(plan.instance()) {
    for (int i = 0; i < static_cast<int>(rows.size()); ++i) {
      for (int32_t row : rows[size_t(i)]) changes_.push_back({i, row});
    }
  }

  bool run() {
    for (Change& change : changes_) look_at(change);
    size_t most_steps = 4 * changes_.size();
    for (size_t step = 0; step < most_steps; ++step) {
      if (excess_.of(plan_) <= 0) return true;
      Change* best = find();
      if (!best) return false;
      plan_.set(best->segment, best->row);
      plan_.keep();
    }
    return excess_.of(plan_) <= 0;
  }

 private:
  static constexpr size_t kLooks = 24;
  static constexpr double kNever = 1e300;

  struct Change {
    int segment;
    int32_t row;
    double price = kNever;  // ns per byte
  };

  void look_at(Change& change) {
    change.price = kNever;
    if (plan_.mode(change.segment) == change.row) return;
    double before = excess_.of(plan_);
    int64_t time = plan_.time();
    plan_.set(change.segment, change.row);
    double saved = before - excess_.of(plan_);
    if (saved > 0) {
      auto slower = static_cast<double>(plan_.time() - time);
      // A faster plan is the better the more it saves.
      change.price = slower > 0 ? slower / saved : slower - saved * 1e-9;
    }
    plan_.undo();
  }

  Change* find() {
    auto cheaper = [](const Change& a, const Change& b) {
      return a.price < b.price;
    };
    size_t looks = std::min(kLooks, changes_.size());
    auto middle = changes_.begin() + static_cast<ptrdiff_t>(looks);
    std::ranges::nth_element(changes_, middle - 1, cheaper);
    for (size_t k = 0; k < looks; ++k) look_at(changes_[k]);
    auto best = std::min_element(changes_.begin(), middle, cheaper);
    if (best->price < kNever) return &*best;
    for (Change& change : changes_) look_at(change);
    best = std::ranges::min_element(changes_, cheaper);
    return best->price < kNever ? &*best : nullptr;
  }

  Evaluator& plan_;
  Excess excess_;
  std::vector<Change> changes_;
};

class Annealer {
 public:
  Annealer(Evaluator& plan, const Rows& rows, const AnnealOptions& options,
           Draws& draws, Incumbent& incumbent)
      : plan_(plan),
        rows_(rows),
        options_(options),
        draws_(draws),
        incumbent_(incumbent) {
    for (size_t i = 0; i < rows.size(); ++i) {
      may_.emplace_back(plan.instance().segments[i].modes.size(), false);
      for (int32_t row : rows[i]) may_.back()[size_t(row)] = true;
      if (rows[i].size() > 1) open_.push_back(static_cast<int>(i));
    }
  }

  void run() {
    incumbent_.offer(plan_);
    if (open_.empty()) return;
    double now = over_cost() + static_cast<double>(plan_.time());
    double factor = std::pow(options_.cold / options_.hot,
                             1.0 / static_cast<double>(options_.moves));
    double heat = options_.hot;
    auto bound = static_cast<double>(options_.bound);
    for (int64_t k = 0; k < options_.moves; ++k, heat *= factor) {
      double most = now - heat * std::log(1 - draws_.unit());
      propose();
      double over = over_cost();
      // Bytes alone often say enough.
      double cost = bound + over;
      if (cost <= most) cost = static_cast<double>(plan_.time()) + over;
      if (cost > most) {
        plan_.undo();
        continue;
      }
      plan_.keep();
      now = cost;
      if (over == 0 && plan_.time() < incumbent_.target()) {
        incumbent_.offer(plan_);
      }
    }
  }

 private:
  double over_cost() const {
    const Instance& instance = plan_.instance();
    double cost = 0;
    if (plan_.host() > instance.host_bytes) {
      cost += options_.host_price *
              static_cast<double>(plan_.host() - instance.host_bytes);
    }
    int64_t peak = plan_.peak();
    if (peak > instance.device_bytes) {
      cost +=
          options_.price * static_cast<double>(peak - instance.device_bytes);
    }
    return cost;
  }

  int any_segment() { return open_[size_t(draws_.below(open_.size()))]; }

  void change(int i) {
    const auto& rows = rows_[size_t(i)];
    plan_.set(i, rows[size_t(draws_.below(rows.size()))]);
  }

  void swap(int i, int j) {
    int32_t a = plan_.mode(i), b = plan_.mode(j);
    if (may(i, b) && may(j, a)) {
      plan_.set(i, b);
      plan_.set(j, a);
    } else {
      change(i);
    }
  }

  bool may(int i, int32_t row) const {
    const auto& allowed = may_[size_t(i)];
    return size_t(row) < allowed.size() && allowed[size_t(row)];
  }

  void propose() {
    int i = any_segment();
    switch (draws_.below(5)) {
      case 0:
      case 1: change(i); break;
      case 2:
        change(i);
        change(any_segment());
        break;
      case 3: {
        int n = static_cast<int>(rows_.size());
        int j = std::clamp(i - 3 + draws_.below(7), 0, n - 1);
        swap(i, j);
        break;
      }
      default: swap(i, any_segment());
    }
  }

  Evaluator& plan_;
  const Rows& rows_;
  const AnnealOptions& options_;
  Draws& draws_;
  Incumbent& incumbent_;
  std::vector<std::vector<bool>> may_;
  std::vector<int> open_;  // segments with a choice
};

}  // namespace

bool descend_to_limit(Evaluator& plan, const Rows& rows) {
  return Descent(plan, rows).run();
}

void anneal(Evaluator& plan, const Rows& rows, const AnnealOptions& options,
            Draws& draws, Incumbent& incumbent) {
  Annealer(plan, rows, options, draws, incumbent).run();
}

}  // namespace braid::plan
