#include "braid/train/array/grouping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
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
  GroupCutter(const std::vector<GroupingJob>& jobs, Group group,
              ArrayCosts costs, const plan::Profile& profile)
      : jobs_(jobs),
        group_(std::move(group)),
        costs_(std::move(costs)),
        predictor_(group_, costs_, profile) {}
  GroupCutter(const GroupCutter&) = delete;
  GroupCutter& operator=(const GroupCutter&) = delete;

  // The fastest that fits, one array after the other. Bytes are asked for last,
  // and only as often as needed: to know them takes longest.
  std::vector<ArrayPlan> fastest() {
    for (const Choice& choice : choices()) {
      std::vector<ArrayPlan> plans = choice.plans;
      if (fits(plans)) return plans;
    }
    return alone();
  }

  struct Choice {
    std::vector<ArrayPlan> plans;
    double seconds = 0;
  };

  // All that are tried, the fastest first.
  const std::vector<Choice>& choices() {
    if (!choices_.empty()) return choices_;
    auto num_jobs = static_cast<int64_t>(group_.jobs.size());
    for (int64_t arrays : candidates(num_jobs)) {
      choices_.push_back(choose(arrays));
    }
    std::ranges::stable_sort(choices_, {}, &Choice::seconds);
    return choices_;
  }

  bool fits(std::vector<ArrayPlan>& plans) {
    return std::ranges::all_of(plans, [&](ArrayPlan& plan) {
      plan.bytes = bytes(plan.size);
      return plan.bytes <= costs_.limit_bytes;
    });
  }

 private:
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

  // Each by itself, where plans that take less memory are tried.
  std::vector<ArrayPlan> alone() {
    auto plans = choose(static_cast<int64_t>(group_.jobs.size())).plans;
    for (ArrayPlan& plan : plans) plan.fits = false;
    return plans;
  }

  const std::vector<GroupingJob>& jobs_;
  Group group_;
  ArrayCosts costs_;
  Predictor predictor_;
  std::vector<Choice> choices_;
  std::map<ArraySize, double> seconds_;
  std::map<ArraySize, int64_t> bytes_;
};

// A group, with the arrays that were chosen.
struct CutGroup {
  std::unique_ptr<GroupCutter> cutter;  // null for a single job
  std::vector<ArrayPlan> plans;
};

// Seconds until devices that each take the longest array that is left have
// made a step of all; `changed` has other arrays.
double span_s(const std::vector<CutGroup>& groups, int devices,
              const CutGroup* changed = nullptr,
              const std::vector<ArrayPlan>& with = {}) {
  std::vector<double> seconds;
  for (const CutGroup& group : groups) {
    for (const ArrayPlan& plan : &group == changed ? with : group.plans) {
      seconds.push_back(plan.step_s);
    }
  }
  std::ranges::sort(seconds, std::greater<>());
  std::vector<double> ends(static_cast<size_t>(devices), 0);
  for (double s : seconds) {
    *std::ranges::min_element(ends) += s;
  }
  return *std::ranges::max_element(ends);
}

// Cuts groups further as long as all devices together are done sooner.
void spread(std::vector<CutGroup>& groups, int devices) {
  constexpr double kWorthwhile = 0.98;
  constexpr size_t kMany = 4;  // arrays of a device: they are even enough
  auto num_arrays = [&] {
    size_t count = 0;
    for (const CutGroup& group : groups) count += group.plans.size();
    return count;
  };
  while (num_arrays() < kMany * static_cast<size_t>(devices)) {
    double best_s = kWorthwhile * span_s(groups, devices);
    CutGroup* best = nullptr;
    std::vector<ArrayPlan> plans;
    for (CutGroup& group : groups) {
      if (!group.cutter) continue;
      for (const GroupCutter::Choice& choice : group.cutter->choices()) {
        if (choice.plans.size() <= group.plans.size()) continue;
        double seconds = span_s(groups, devices, &group, choice.plans);
        if (seconds >= best_s) continue;
        best_s = seconds;
        best = &group;
        plans = choice.plans;
      }
    }
    // Smaller arrays than those that fit do, too.
    if (!best || !best->cutter->fits(plans)) return;
    best->plans = std::move(plans);
  }
}

}  // namespace

std::vector<ArrayPlan> group_jobs(const std::vector<GroupingJob>& jobs,
                                  const CostsOf& costs_of,
                                  const plan::Profile& profile, int devices) {
  std::vector<CutGroup> groups;
  for (const Group& group : groups_of(jobs)) {
    CutGroup& cut = groups.emplace_back();
    bool is_single = group.jobs.size() == 1;
    if (is_single) cut.plans.push_back({.jobs = group.jobs});
    if (is_single && devices == 1) continue;
    ArrayCosts costs = costs_of(group.jobs[0]);
    if (is_single) {
      cut.plans[0].step_s = costs.step_s({});
      continue;
    }
    cut.cutter =
        std::make_unique<GroupCutter>(jobs, group, std::move(costs), profile);
    cut.plans = cut.cutter->fastest();
  }
  if (devices > 1) spread(groups, devices);
  std::vector<ArrayPlan> all;
  for (CutGroup& group : groups) {
    std::ranges::move(group.plans, std::back_inserter(all));
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
