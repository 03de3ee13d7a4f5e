#include <algorithm>
#include <cmath>
#include <tuple>

#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/schedule/cluster.h"
#include "braid/schedule/queues.h"

namespace braid::schedule {
namespace {

constexpr int32_t kNowhere = -1;
// So many jobs are looked at behind one whose devices are not free.
constexpr int kMostPassed = 64;

struct JobState {
  JobView view;
  int32_t group = kNowhere;  // where it runs
  int32_t version = 0;       // of its end among the events
  size_t at = 0;             // in the list of those that run
  int64_t placed_ns = 0;     // it has its devices since then,
  int64_t from_ns = 0;       // and computes since then
};

enum class What : int32_t { kEnd, kArrival };

struct Event {
  int64_t ns;
  What what;
  int32_t job;
  int32_t version;
  bool operator>(const Event& other) const {
    return std::tie(ns, what, job) > std::tie(other.ns, other.what, other.job);
  }
};

class ClusterSimulation {
 public:
  ClusterSimulation(const std::vector<Job>& jobs, const Cluster& cluster,
                    const Policy& policy)
      : jobs_(jobs),
        groups_(cluster.devices),
        policy_(policy),
        quantum_ns_(std::llround(1e9 * cluster.quantum_s)),
        restart_ns_(std::llround(1e9 * cluster.restart_s)) {
    outcome_.jobs.resize(jobs.size());
    outcome_.devices.resize(groups_.size());
    outcome_.first_ns = jobs.empty() ? 0 : kNever;
    for (const DeviceGroup& group : groups_) free_.push_back(group.count);
    for (size_t g = 0; g < groups_.size(); ++g) {
      by_speed_.push_back(static_cast<int32_t>(g));
    }
    std::ranges::stable_sort(by_speed_, std::ranges::greater{}, [&](int32_t g) {
      return groups_[static_cast<size_t>(g)].speed;
    });
    for (size_t i = 0; i < jobs.size(); ++i) add_job(i);
  }

  Outcome run() {
    while (!events_.empty()) {
      int64_t now = events_.top().ns;
      bool may_change =
          !running_.empty() && (!waiting_.empty() || may_speed_up());
      bool is_quantum_over = may_change && next_quantum(now_) <= now;
      if (is_quantum_over) {
        now_ = next_quantum(now_);
        rearrange();
        continue;
      }
      now_ = now;
      while (!events_.empty() && events_.top().ns == now) handle_event();
      fill();
    }
    return std::move(outcome_);
  }

 private:
  JobState& job(int32_t number) { return of_job_[static_cast<size_t>(number)]; }
  const DeviceGroup& group(int32_t number) const {
    return groups_[static_cast<size_t>(number)];
  }
  int64_t& free_in(int32_t group) { return free_[static_cast<size_t>(group)]; }
  int64_t next_quantum(int64_t ns) const {
    return (ns / quantum_ns_ + 1) * quantum_ns_;
  }

  void add_job(size_t i) {
    JobState state;
    state.view = {.job = &jobs_[i],
                  .number = static_cast<int64_t>(i),
                  .left_ns = jobs_[i].work_ns()};
    of_job_.push_back(state);
    events_.push(
        {jobs_[i].arrival_ns, What::kArrival, static_cast<int32_t>(i), 0});
    outcome_.first_ns = std::min(outcome_.first_ns, jobs_[i].arrival_ns);
  }

  void handle_event() {
    Event event = events_.top();
    events_.pop();
    if (event.what == What::kArrival) return wait(event.job);
    JobState& state = job(event.job);
    if (state.version != event.version) return;  // it gave way meanwhile
    leave(event.job);
    state.view.done_ns += std::exchange(state.view.left_ns, 0);
    outcome_.jobs[static_cast<size_t>(event.job)].end_ns = now_;
    outcome_.end_ns = std::max(outcome_.end_ns, now_);
  }

  void wait(int32_t number) {
    waiting_.push({policy_.key(job(number).view), number});
  }

  // A job that runs, as it is now.
  JobView present(const JobState& state) const {
    JobView view = state.view;
    if (now_ <= state.from_ns) return view;
    double speed = group(state.group).speed;
    auto done =
        static_cast<int64_t>(static_cast<double>(now_ - state.from_ns) * speed);
    done = std::min(done, view.left_ns);
    view.done_ns += done;
    view.left_ns -= done;
    view.steps_done = view.done_ns / std::max<int64_t>(view.job->step_ns(), 1);
    return view;
  }

  // The fastest group with so many devices.
  int32_t group_with(const std::vector<int64_t>& room, int64_t count) const {
    for (int32_t g : by_speed_) {
      if (room[static_cast<size_t>(g)] >= count) return g;
    }
    return kNowhere;
  }

  void start(int32_t number, int32_t group_number) {
    JobState& state = job(number);
    const Job& of = *state.view.job;
    free_in(group_number) -= of.num_devices;
    state.group = group_number;
    state.placed_ns = now_;
    state.from_ns = now_ + (state.view.units_begun > 0 ? restart_ns_ : 0);
    ++state.view.units_begun;
    ++outcome_.num_units;
    JobTimes& times = outcome_.jobs[static_cast<size_t>(number)];
    times.begin_ns = std::min(times.begin_ns, now_);
    int64_t end =
        state.from_ns + ns_at(group(group_number).speed, state.view.left_ns);
    events_.push({end, What::kEnd, number, ++state.version});
    state.at = running_.size();
    running_.push_back(number);
  }

  void leave(int32_t number) {
    JobState& state = job(number);
    const Job& of = *state.view.job;
    DeviceTimes& times = outcome_.devices[static_cast<size_t>(state.group)];
    times.compute_ns += static_cast<double>(of.num_devices) *
                        static_cast<double>(now_ - state.placed_ns);
    free_in(state.group) += of.num_devices;
    state.group = kNowhere;
    ++state.version;
    job(running_.back()).at = state.at;
    running_[state.at] = running_.back();
    running_.pop_back();
  }

  void stop(int32_t number) {
    JobState& state = job(number);
    state.view = present(state);
    leave(number);
    ++outcome_.num_preempted;
  }

  // Whether jobs run on slower devices than some that are free.
  bool may_speed_up() const {
    double fastest_free = 0, slowest_used = 1e300;
    for (size_t g = 0; g < groups_.size(); ++g) {
      double speed = groups_[g].speed;
      if (free_[g] > 0) fastest_free = std::max(fastest_free, speed);
      if (free_[g] < groups_[g].count) {
        slowest_used = std::min(slowest_used, speed);
      }
    }
    return fastest_free > slowest_used;
  }

  // Whether it would end sooner there, in spite of what the move costs.
  bool pays_to_move(int32_t number, int32_t to) const {
    const JobState& state = of_job_[static_cast<size_t>(number)];
    int64_t left_ns = present(state).left_ns;
    return ns_at(group(state.group).speed, left_ns) >
           restart_ns_ + ns_at(group(to).speed, left_ns);
  }

  // At the end of a quantum: those with the least keys get the devices, be they
  // running or waiting.
  void rearrange() {
    std::vector<Waiting> running;
    running.reserve(running_.size());
    bool is_any_behind = may_speed_up();
    double most = waiting_.empty() ? 1e300 : waiting_.top().key;
    for (int32_t number : running_) {
      double key = policy_.key(present(job(number)));
      running.push_back({key, number});
      is_any_behind = is_any_behind || key > most;
    }
    if (!is_any_behind) return;
    std::ranges::sort(running, std::greater<>{});  // least at the end
    Arrangement made = arrange(std::move(running));
    for (int32_t number : made.give_way) {
      stop(number);
      wait(number);
    }
    for (const auto& [number, g] : made.move) stop(number);
    for (const auto& [number, g] : made.move) start(number, g);
    for (const Waiting& w : made.passed) waiting_.push(w);
    for (const auto& [number, g] : made.start) start(number, g);
  }

  struct Arrangement {
    std::vector<int32_t> give_way = {};
    std::vector<std::pair<int32_t, int32_t>> start = {};  // job, group
    std::vector<std::pair<int32_t, int32_t>> move = {};
    std::vector<Waiting> passed = {};
  };

  Arrangement arrange(std::vector<Waiting> running) {
    Arrangement made;
    std::vector<int64_t> room;
    int64_t all = 0;
    for (const DeviceGroup& g : groups_) {
      room.push_back(g.count);
      all += g.count;
    }
    auto take = [&](int32_t number, int32_t g) {
      int64_t count = job(number).view.job->num_devices;
      room[static_cast<size_t>(g)] -= count;
      all -= count;
    };
    while (all > 0) {
      bool may_wait =
          !waiting_.empty() && std::ssize(made.passed) < kMostPassed;
      bool is_waiting = may_wait && (running.empty() ||
                                     waiting_.top().key < running.back().key);
      if (!is_waiting && running.empty()) break;
      int32_t number = is_waiting ? waiting_.top().job : running.back().job;
      int64_t count = job(number).view.job->num_devices;
      if (is_waiting) {
        Waiting next = waiting_.top();
        waiting_.pop();
        int32_t g = group_with(room, count);
        if (g == kNowhere) {
          made.passed.push_back(next);
        } else {
          take(number, g);
          made.start.emplace_back(number, g);
        }
        continue;
      }
      running.pop_back();
      int32_t g = job(number).group, other = group_with(room, count);
      if (other != kNowhere && pays_to_move(number, other)) {
        take(number, other);
        made.move.emplace_back(number, other);
      } else if (room[static_cast<size_t>(g)] >= count) {
        take(number, g);
      } else {
        made.give_way.push_back(number);
      }
    }
    for (const Waiting& left : running) made.give_way.push_back(left.job);
    return made;
  }

  // Jobs that wait, where devices are free.
  void fill() {
    std::vector<Waiting> passed;
    while (!waiting_.empty() && std::ssize(passed) < kMostPassed) {
      Waiting next = waiting_.top();
      int32_t g = group_with(free_, job(next.job).view.job->num_devices);
      if (g == kNowhere && !has_free()) break;
      waiting_.pop();
      if (g == kNowhere) {
        passed.push_back(next);
      } else {
        start(next.job, g);
      }
    }
    for (const Waiting& w : passed) waiting_.push(w);
  }

  bool has_free() const {
    return std::ranges::any_of(free_, [](int64_t count) { return count > 0; });
  }

  const std::vector<Job>& jobs_;
  const std::vector<DeviceGroup>& groups_;
  const Policy& policy_;
  int64_t quantum_ns_, restart_ns_;
  std::vector<JobState> of_job_;
  std::vector<int64_t> free_;      // by group
  std::vector<int32_t> by_speed_;  // groups, fastest first
  std::vector<int32_t> running_;
  LeastFirst<Event> events_;
  LeastFirst<Waiting> waiting_;
  int64_t now_ = 0;
  Outcome outcome_;
};

// Else two jobs that give way to each other would never end.
void check_restart(const Cluster& cluster) {
  if (cluster.restart_s < cluster.quantum_s) return;
  fail_usage("[cluster] expected a restart of less than the quantum, {} s",
             cluster.quantum_s);
}

void check_room(const std::vector<Job>& jobs, const Cluster& cluster) {
  int64_t most = cluster.most_at_once();
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].num_devices <= most) continue;
    fail_usage(
        "[cluster] job {} ('{}') wants {} devices at once, no group has more "
        "than {}",
        i + 1, printable(jobs[i].name, 60), jobs[i].num_devices, most);
  }
}

}  // namespace

Outcome simulate_cluster(const std::vector<Job>& jobs, const Cluster& cluster,
                         const Policy& policy) {
  check_jobs(jobs, cluster.all_devices());
  policy.check(jobs);
  check_room(jobs, cluster);
  check_restart(cluster);
  return ClusterSimulation(jobs, cluster, policy).run();
}

}  // namespace braid::schedule
