#include "braid/schedule/unit_simulator.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "braid/base/error.h"
#include "braid/schedule/queues.h"

namespace braid::schedule {
namespace {

constexpr int32_t kNobody = -1;

struct JobState {
  JobView view;
  int64_t num_units = 0;
  size_t unit = 0;     // of the step, the next one
  int64_t out_ns = 0;  // when all that it left is there for others
};

struct DeviceState {
  int32_t running = kNobody;
  int32_t next = kNobody;               // its copies are under way or there
  int64_t computes_until = 0;           // the running unit
  int64_t in_until = 0, out_until = 0;  // links are busy
  int64_t place_free_ns = 0;            // of the unit before the last
  int64_t begin_ns = 0;                 // of the running unit
};

enum class What : int32_t { kEnd, kArrival, kBegin };

struct Event {
  int64_t ns;
  What what;
  int32_t who;  // a job that arrives, else a device
  bool operator>(const Event& other) const {
    return std::tie(ns, what, who) > std::tie(other.ns, other.what, other.who);
  }
};

class UnitSimulation {
 public:
  UnitSimulation(const std::vector<Job>& jobs,
                 const std::vector<Device>& devices, const Policy& policy,
                 const UnitOptions& options)
      : jobs_(jobs),
        devices_(devices),
        policy_(policy),
        options_(options),
        of_device_(devices.size()) {
    outcome_.jobs.resize(jobs.size());
    outcome_.devices.resize(devices.size());
    outcome_.first_ns = kNever;
    for (size_t i = 0; i < jobs.size(); ++i) add_job(i);
    for (size_t d = 0; d < devices.size(); ++d) wait_for_work(index(d));
  }

  Outcome run() {
    while (!events_.empty()) {
      Event event = events_.top();
      events_.pop();
      switch (event.what) {
        case What::kArrival: make_ready(event.who); break;
        case What::kBegin: begin(event.who, event.ns); break;
        case What::kEnd: end(event.who, event.ns); break;
      }
      bool is_last_of_moment = events_.empty() || events_.top().ns > event.ns ||
                               events_.top().what == What::kBegin;
      if (is_last_of_moment) give_work(event.ns);
    }
    if (jobs_.empty()) outcome_.first_ns = 0;
    return std::move(outcome_);
  }

 private:
  static int32_t index(size_t number) { return static_cast<int32_t>(number); }
  JobState& job(int32_t number) { return of_job_[static_cast<size_t>(number)]; }
  DeviceState& device(int32_t number) {
    return of_device_[static_cast<size_t>(number)];
  }
  const Unit& unit(const JobState& state) const {
    return state.view.job->units[state.unit];
  }
  DeviceTimes& times(int32_t device) {
    return outcome_.devices[static_cast<size_t>(device)];
  }
  double speed(int32_t device) const {
    return devices_[static_cast<size_t>(device)].speed;
  }

  void add_job(size_t i) {
    const Job& job = jobs_[i];
    JobState state;
    state.view = {.job = &job,
                  .number = static_cast<int64_t>(i),
                  .left_ns = job.work_ns()};
    state.num_units = job.num_units();
    of_job_.push_back(state);
    events_.push({job.arrival_ns, What::kArrival, index(i)});
    outcome_.first_ns = std::min(outcome_.first_ns, job.arrival_ns);
  }

  // Those that idle first, else those that will soonest; the fastest of them.
  void wait_for_work(int32_t d) {
    waiting_.emplace(device(d).computes_until, -speed(d), d);
  }

  void make_ready(int32_t number) {
    ready_.push({policy_.key(job(number).view), number});
  }

  void give_work(int64_t now) {
    while (!ready_.empty() && !waiting_.empty()) {
      auto d = std::get<int32_t>(*waiting_.begin());
      waiting_.erase(waiting_.begin());
      choose(d, now);
    }
  }

  // The unit that was fetched begins to compute.
  void begin(int32_t d, int64_t now) {
    DeviceState& state = device(d);
    state.running = std::exchange(state.next, kNobody);
    JobState& of = job(state.running);
    int64_t ns = ns_at(speed(d), unit(of).compute_ns);
    state.begin_ns = now;
    state.computes_until = now + ns;
    times(d).compute_ns += static_cast<double>(ns);
    JobTimes& of_job = outcome_.jobs[static_cast<size_t>(state.running)];
    of_job.begin_ns = std::min(of_job.begin_ns, now);
    advance(of);
    events_.push({state.computes_until, What::kEnd, d});
    if (options_.prefetches) choose(d, now);
  }

  // Policies see a job as it will be when the unit that was begun has ended.
  void advance(JobState& state) {
    int64_t ns = unit(state).compute_ns;
    state.view.done_ns += ns;
    state.view.left_ns -= ns;
    ++state.view.units_begun;
    ++outcome_.num_units;
    if (++state.unit < state.view.job->units.size()) return;
    state.unit = 0;
    ++state.view.steps_done;
  }

  bool is_over(const JobState& state) const {
    return state.view.units_begun == state.num_units;
  }

  void end(int32_t d, int64_t now) {
    DeviceState& state = device(d);
    int32_t number = std::exchange(state.running, kNobody);
    JobState& of = job(number);
    const std::vector<Unit>& units = of.view.job->units;
    int64_t out_ns =
        units[of.unit == 0 ? units.size() - 1 : of.unit - 1].out_ns;
    of.out_ns = now;
    state.place_free_ns = state.out_until;
    if (out_ns > 0) {
      state.out_until = std::max(state.out_until, now) + out_ns;
      of.out_ns = state.out_until;
      times(d).out_ns += static_cast<double>(out_ns);
    }
    if (options_.keeps_spans) {
      outcome_.spans.push_back(
          {d, number, of.view.units_begun - 1, state.begin_ns, now});
    }
    if (is_over(of)) {
      outcome_.jobs[static_cast<size_t>(number)].end_ns = of.out_ns;
      outcome_.end_ns = std::max(outcome_.end_ns, of.out_ns);
    } else if (state.next != number) {
      bool goes_on = !options_.prefetches && stays(of);
      if (goes_on) return take(d, number, now, true);
      ++outcome_.num_preempted;
      make_ready(number);
    }
    if (state.next == kNobody) becomes_idle(d);
  }

  // It may wait already, as one that computes.
  void becomes_idle(int32_t d) {
    waiting_.erase({device(d).computes_until, -speed(d), d});
    device(d).computes_until = 0;
    wait_for_work(d);
  }

  // Whether a device does not go to another job after a unit of this one.
  bool stays(const JobState& of) const {
    if (ready_.empty() || !options_.interleaves) return true;
    return policy_.key(of.view) <= ready_.top().key;
  }

  // What comes next, while a unit computes or where none does.
  void choose(int32_t d, int64_t now) {
    DeviceState& state = device(d);
    bool has_own = state.running != kNobody && !is_over(job(state.running));
    if (has_own && stays(job(state.running))) {
      return take(d, state.running, now, true);
    }
    if (ready_.empty()) return wait_for_work(d);
    int32_t number = ready_.top().job;
    ready_.pop();
    take(d, number, now, false);
  }

  // What another unit left must be out before it comes in again.
  void take(int32_t d, int32_t number, int64_t now, bool is_own) {
    DeviceState& state = device(d);
    const JobState& of = job(number);
    bool waits = !is_own || !options_.prefetches;
    int64_t there = std::max(now, waits ? of.out_ns : 0);
    int64_t in_ns = unit(of).in_ns;
    if (in_ns > 0) {
      int64_t place =
          options_.prefetches ? state.place_free_ns : state.out_until;
      there = std::max({there, state.in_until, place}) + in_ns;
      state.in_until = there;
      times(d).in_ns += static_cast<double>(in_ns);
    }
    state.next = number;
    bool computes = state.running != kNobody;
    int64_t begin = std::max(there, computes ? state.computes_until : now);
    events_.push({begin, What::kBegin, d});
  }

  const std::vector<Job>& jobs_;
  const std::vector<Device>& devices_;
  const Policy& policy_;
  const UnitOptions& options_;
  std::vector<JobState> of_job_;
  std::vector<DeviceState> of_device_;
  LeastFirst<Event> events_;
  LeastFirst<Waiting> ready_;
  std::set<std::tuple<int64_t, double, int32_t>> waiting_;
  Outcome outcome_;
};

}  // namespace

Outcome simulate_units(const std::vector<Job>& jobs,
                       const std::vector<Device>& devices, const Policy& policy,
                       const UnitOptions& options) {
  check_jobs(jobs, devices);
  policy.check(jobs);
  for (const Job& job : jobs) {
    if (job.num_devices == 1) continue;
    fail_usage("[schedule] units run on one device, '{}' wants {}", job.name,
               job.num_devices);
  }
  return UnitSimulation(jobs, devices, policy, options).run();
}

}  // namespace braid::schedule
