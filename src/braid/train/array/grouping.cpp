#include "braid/train/array/grouping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "braid/graph/signature.h"

namespace braid::train {
namespace {

constexpr int64_t kFewArrays = 16;  // all numbers up to here are tried

struct Group {
  std::string signature;
  std::vector<size_t> jobs;
};

std::vector<Group> groups_of(const std::vector<GroupingJob>& jobs) {
  std::vector<Group> groups;
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < jobs.size(); ++i) {
    auto [found, is_new] = known.emplace(jobs[i].signature, groups.size());
    if (is_new) groups.push_back({jobs[i].signature, {}});
    groups[found->second].jobs.push_back(i);
  }
  return groups;
}

// Numbers of arrays to choose from: few of them, and those whose sizes are
// about powers of two or halfway between.
std::set<int64_t> candidates(int64_t jobs) {
  std::set<int64_t> counts;
  for (int64_t k = 1; k <= std::min(jobs, kFewArrays); ++k) counts.insert(k);
  for (int64_t size = 1; size <= jobs; size *= 2) {
    counts.insert((jobs + size - 1) / size);
    counts.insert((2 * jobs + 3 * size - 1) / (3 * size));
  }
  return counts;
}

// Seconds of steps: measured ones, and arithmetic that was corrected by the
// nearest measured size.
class Predictor {
 public:
  Predictor(const Group& group, const ArrayCosts& costs,
            const plan::Profile& profile)
      : group_(group), costs_(costs), profile_(profile) {
    auto most = static_cast<int64_t>(group.jobs.size());
    for (int64_t members = 1; members <= most; ++members) {
      for (bool shared : {false, true}) {
        ArraySize size{members, shared};
        if (measured(size)) known_.push_back(size);
      }
    }
  }

  std::optional<double> measured(const ArraySize& size) const {
    if (profile_.size(plan::Measured::kArray) == 0) return std::nullopt;
    return profile_.find(plan::Measured::kArray,
                         step_key(group_.signature, size));
  }

  double seconds(const ArraySize& size) const {
    if (auto seconds = measured(size)) return *seconds;
    return costs_.step_s(size) * correction(size);
  }

 private:
  // Sizes are far from each other by their ratio; whether data are shared
  // counts as much as a factor.
  static double distance(const ArraySize& a, const ArraySize& b) {
    auto ratio =
        static_cast<double>(a.members) / static_cast<double>(b.members);
    return std::abs(std::log(ratio)) + (a.shared_data == b.shared_data ? 0 : 1);
  }

  double correction(const ArraySize& size) const {
    if (known_.empty()) return 1;
    auto nearest = std::ranges::min_element(
        known_, {},
        [&](const ArraySize& other) { return distance(size, other); });
    double predicted = costs_.step_s(*nearest);
    return predicted > 0 ? *measured(*nearest) / predicted : 1;
  }

  const Group& group_;
  const ArrayCosts& costs_;
  const plan::Profile& profile_;
  std::vector<ArraySize> known_;  // those that were measured
};

bool share_data(const std::vector<GroupingJob>& jobs,
                const std::vector<size_t>& numbers) {
  return std::ranges::all_of(
      numbers, [&](size_t i) { return jobs[i].data == jobs[numbers[0]].data; });
}

// A group cut into so many arrays.
std::vector<ArrayPlan> cut(const std::vector<GroupingJob>& jobs,
                           const Group& group, int64_t arrays) {
  std::vector<ArrayPlan> plans;
  auto next = group.jobs.begin();
  auto num_jobs = static_cast<int64_t>(group.jobs.size());
  for (int64_t members : even_sizes(num_jobs, arrays)) {
    ArrayPlan& plan = plans.emplace_back();
    plan.jobs.assign(next, next + members);
    plan.size = {members, members > 1 && share_data(jobs, plan.jobs)};
    next += members;
  }
  return plans;
}

class GroupCutter {
 public:
  GroupCutter(const std::vector<GroupingJob>& jobs, const Group& group,
              const ArrayCosts& costs, const plan::Profile& profile)
      : jobs_(jobs),
        group_(group),
        costs_(costs),
        predictor_(group, costs, profile) {}

  // The fastest that fits. Bytes are asked for last, and only as often as
  // needed: to know them takes longest.
  std::vector<ArrayPlan> run() {
    std::vector<Choice> choices;
    auto num_jobs = static_cast<int64_t>(group_.jobs.size());
    for (int64_t arrays : candidates(num_jobs)) {
      choices.push_back(choose(arrays));
    }
    std::ranges::stable_sort(choices, {}, &Choice::seconds);
    for (Choice& choice : choices) {
      if (fits(choice.plans)) return std::move(choice.plans);
    }
    return alone();
  }

 private:
  struct Choice {
    std::vector<ArrayPlan> plans;
    double seconds = 0;
  };

  Choice choose(int64_t arrays) {
    Choice choice{cut(jobs_, group_, arrays)};
    for (ArrayPlan& plan : choice.plans) {
      plan.is_measured = predictor_.measured(plan.size).has_value();
      plan.step_s = seconds(plan.size);
      choice.seconds += plan.step_s;
    }
    return choice;
  }

  double seconds(const ArraySize& size) {
    auto known = seconds_.find(size);
    if (known == seconds_.end()) {
      known = seconds_.emplace(size, predictor_.seconds(size)).first;
    }
    return known->second;
  }

  int64_t bytes(const ArraySize& size) {
    auto known = bytes_.find(size);
    if (known == bytes_.end()) {
      known = bytes_.emplace(size, costs_.bytes(size)).first;
    }
    return known->second;
  }

  bool fits(std::vector<ArrayPlan>& plans) {
    return std::ranges::all_of(plans, [&](ArrayPlan& plan) {
      plan.bytes = bytes(plan.size);
      return plan.bytes <= costs_.limit_bytes;
    });
  }

  // Each by itself, where plans that take less memory are tried.
  std::vector<ArrayPlan> alone() {
    auto plans = choose(static_cast<int64_t>(group_.jobs.size())).plans;
    for (ArrayPlan& plan : plans) plan.fits = false;
    return plans;
  }

  const std::vector<GroupingJob>& jobs_;
  const Group& group_;
  const ArrayCosts& costs_;
  Predictor predictor_;
  std::map<ArraySize, double> seconds_;
  std::map<ArraySize, int64_t> bytes_;
};

}  // namespace

std::vector<ArrayPlan> group_jobs(const std::vector<GroupingJob>& jobs,
                                  const CostsOf& costs_of,
                                  const plan::Profile& profile) {
  std::vector<ArrayPlan> all;
  for (const Group& group : groups_of(jobs)) {
    if (group.jobs.size() == 1) {
      all.push_back({.jobs = group.jobs});
      continue;
    }
    ArrayCosts costs = costs_of(group.jobs[0]);
    for (ArrayPlan& plan : GroupCutter(jobs, group, costs, profile).run()) {
      all.push_back(std::move(plan));
    }
  }
  return all;
}

std::string step_key(const std::string& signature, const ArraySize& size) {
  return fmt::format("array step {} members={}{}", digest_text(signature),
                     size.members, size.shared_data ? " shared" : "");
}

std::vector<int64_t> even_sizes(int64_t jobs, int64_t arrays) {
  std::vector<int64_t> sizes(static_cast<size_t>(arrays), jobs / arrays);
  for (int64_t i = 0; i < jobs % arrays; ++i) ++sizes[static_cast<size_t>(i)];
  return sizes;
}

}  // namespace braid::train
