#include "braid/compile/choose_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace braid::compile {
namespace {

using plan::Activations;
using plan::Decision;
using plan::Order;
using plan::Parameters;
using plan::Plan;
using plan::Update;

// The depths that solvers may choose from.
constexpr int kDepths[] = {0, 1, 2, 3, 5, 8, 12, 16};
// Rows differ a little from programs: so often the solver gets another limit.
constexpr int kMostRounds = 8;

// Decisions for all segments, from fastest to smallest, should no plan that a
// solver proposes fit.
constexpr Decision kLadder[] = {
    {Activations::kRecompute, Parameters::kResident, Update::kDevice},
    {Activations::kOffload, Parameters::kResident, Update::kDevice},
    {Activations::kRecompute, Parameters::kResident, Update::kHost},
    {Activations::kRecompute, Parameters::kSpilled, Update::kDevice},
    {Activations::kOffload, Parameters::kSpilled, Update::kHost},
    {Activations::kRecompute, Parameters::kSpilled, Update::kHost},
    {Activations::kRecompute, Parameters::kFile, Update::kHostFile},
};

bool uses_file(const Decision& decision) {
  return decision.parameters == Parameters::kFile ||
         decision.update == Update::kHostFile;
}

// A plan as the key of what is known about it.
std::vector<int> key_of(const Plan& plan) {
  std::vector<int> key{plan.depth, static_cast<int>(plan.order)};
  for (const Decision& d : plan.segments) {
    key.push_back(static_cast<int>(d.activations) * 16 +
                  static_cast<int>(d.parameters) * 4 +
                  static_cast<int>(d.update));
  }
  return key;
}

class Chooser {
 public:
  Chooser(const plan::PartialPlan& given, const ChoiceOptions& options,
          const TryPlan& try_plan)
      : given_(given), options_(options), try_plan_(try_plan) {}

  PlanChoice run(const MakeRows& make_rows) {
    Plan kept = given_.filled();
    if (!given_.order) kept.order = options_.orders.front();
    choice_.unlimited_s = trial(kept).seconds;
    if (choice_.fits) return std::move(choice_);
    for (Order order : options_.orders) {
      plan::ProgramRows& rows = rows_[order] = make_rows(order);
      set_depths(rows.instance);
      kept.order = order;
      propose(rows, trial(kept).bytes);
    }
    for (Order order : options_.orders) {
      if (!choice_.fits) climb_down(order);
    }
    if (auto rows = rows_.find(choice_.plan.order); rows != rows_.end()) {
      if (choice_.fits) give_back(rows->second);
    }
    choice_.solution = std::move(solutions_[choice_.plan.order]);
    return std::move(choice_);
  }

 private:
  bool fits(const PlanTrial& t) const {
    return t.bytes <= options_.limit_bytes &&
           t.host_bytes <= options_.host_limit_bytes;
  }

  // By how much the worse limit is passed, as a share of it.
  double excess(const PlanTrial& t) const {
    auto over = [](int64_t bytes, int64_t limit) {
      return static_cast<double>(bytes - limit) /
             static_cast<double>(std::max<int64_t>(limit, 1));
    };
    return std::max(over(t.bytes, options_.limit_bytes),
                    over(t.host_bytes, options_.host_limit_bytes));
  }

  // Remembers the fastest plan that fits, else the one nearest to that.
  const PlanTrial& trial(const Plan& plan) {
    auto [known, is_new] = known_.try_emplace(key_of(plan));
    PlanTrial& t = known->second;
    if (!is_new) return t;
    t = try_plan_(plan);
    ++choice_.num_trials;
    bool does_fit = fits(t);
    bool is_first = choice_.num_trials == 1;
    bool is_better = does_fit
                         ? !choice_.fits || is_better_than(choice_, plan, t)
                         : !choice_.fits && excess(t) < excess(choice_.trial);
    if (is_first || is_better) {
      choice_.plan = plan;
      choice_.trial = t;
      choice_.fits = does_fit;
    }
    return t;
  }

  // Faster, or as fast with fewer segments that do something for it.
  static bool is_better_than(const PlanChoice& other, const Plan& plan,
                             const PlanTrial& t) {
    constexpr double kSame = 1e-4;
    double ratio = t.seconds / other.trial.seconds;
    if (std::abs(ratio - 1) > kSame) return ratio < 1;
    return num_saving(plan) < num_saving(other.plan);
  }

  static int64_t num_saving(const Plan& plan) {
    return std::ranges::count_if(
        plan.segments, [](const Decision& d) { return d != Decision{}; });
  }

  bool has_trials() const { return choice_.num_trials < options_.most_trials; }

  void set_depths(plan::Instance& instance) const {
    if (given_.depth) {
      instance.depths = {*given_.depth};
    } else {
      instance.depths.assign(std::begin(kDepths), std::end(kDepths));
    }
  }

  // The limit of the rows moves until the programs of what the solver answers
  // fill the true one.
  void propose(plan::ProgramRows& rows, int64_t kept_bytes) {
    std::optional<plan::Solution>& best = solutions_[rows.order];
    // Slots that only other programs have are in no row.
    int64_t low = 0, high = kNoLimit;
    int64_t limit = options_.limit_bytes, host = options_.host_limit_bytes;
    for (int round = 0; round < kMostRounds && has_trials(); ++round) {
      rows.instance.device_bytes = limit;
      rows.instance.host_bytes = host;
      plan::Solution solution = plan::solve(rows.instance, options_.solve);
      if (!solution.feasible) {
        // The smallest plan may fit all the same.
        int64_t least = solution.least_peak_bytes;
        if (least < 0 || least == limit) break;
        limit = low = least;
        continue;
      }
      Plan plan = rows.plan_of(solution.modes, solution.depth);
      plan.buffer_bytes = given_.buffer_bytes;
      bool is_known = known_.contains(key_of(plan));
      const PlanTrial& t = trial(plan);
      if (is_known && fits(t)) break;
      int64_t believed = solution.peak_bytes();
      if (!best || fits(t)) best = std::move(solution);
      host = host_limit(host, t);
      int64_t room = options_.limit_bytes - t.bytes;
      if (room < 0) {
        high = limit;
        limit = std::max(limit + room, low + (high - low) / 2);
        limit = std::min(limit, believed - 1);  // another answer
      } else {
        low = limit;
        if (room < options_.limit_bytes / 64) break;
        limit = high == kNoLimit ? limit + room
                                 : std::min(limit + room, (low + high) / 2);
      }
      if (limit <= 0 || limit >= kept_bytes) break;
    }
  }

  int64_t host_limit(int64_t host, const PlanTrial& t) const {
    int64_t over = t.host_bytes - options_.host_limit_bytes;
    return over <= 0 ? host : std::max<int64_t>(host - over, 0);
  }

  // Uniform decisions where the plan leaves them open.
  void climb_down(Order order) {
    for (const Decision& decision : kLadder) {
      if (uses_file(decision) && !options_.has_file) continue;
      for (int depth : {1, 0}) {
        Plan plan = given_.filled(decision);
        plan.depth = given_.depth.value_or(depth);
        plan.order = order;
        trial(plan);
        if (choice_.fits) return;
      }
    }
  }

  // Segments that need not save after all: those first that it costs the most.
  void give_back(const plan::ProgramRows& rows) {
    std::vector<size_t> order(rows.decisions.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](size_t i) { return cost_of_saving(rows, i); });
    for (size_t i : order) {
      if (!has_trials()) return;
      Plan next = choice_.plan;
      if (given_.segments[i] || next.segments[i] == Decision{}) continue;
      next.segments[i] = {};
      trial(next);
    }
  }

  // Nanoseconds of all streams that its decision takes over keeping all.
  int64_t cost_of_saving(const plan::ProgramRows& rows, size_t segment) const {
    int64_t kept = 0, present = 0;
    for (size_t m = 0; m < rows.decisions[segment].size(); ++m) {
      int64_t sum = 0;
      const plan::Mode& mode = rows.instance.segments[segment].modes[m];
      for (const plan::ModeField& field : plan::kTimeFields) {
        sum += mode.*field.at;
      }
      const Decision& d = rows.decisions[segment][m];
      if (d == Decision{}) kept = sum;
      if (d == choice_.plan.segments[segment]) present = sum;
    }
    return present - kept;
  }

  const plan::PartialPlan& given_;
  const ChoiceOptions& options_;
  const TryPlan& try_plan_;
  std::map<std::vector<int>, PlanTrial> known_;
  std::map<Order, plan::ProgramRows> rows_;
  std::map<Order, std::optional<plan::Solution>> solutions_;
  PlanChoice choice_;
};

}  // namespace

PlanChoice choose_plan(const plan::PartialPlan& given, const MakeRows& rows,
                       const ChoiceOptions& options, const TryPlan& try_plan) {
  return Chooser(given, options, try_plan).run(rows);
}

}  // namespace braid::compile
