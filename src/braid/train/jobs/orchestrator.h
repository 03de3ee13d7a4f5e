// Orchestrator: runs that take turns on devices, so that all of them end.
//
// Each device has places; a place is a thread and an even part of the device's
// memory, so limits hold whatever the timing. A run trains in one place at a
// time. When it trained for a quantum and another one should go first, it
// leaves with all that it holds and goes on later, in any place. Programs in
// the places of one device compute in turns (runtime/compute_turn.h): while one
// waits for its copies another computes.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "braid/schedule/policy.h"
#include "braid/train/jobs/job_devices.h"
#include "braid/train/run/run.h"

namespace braid::train {

// A run, as the orchestrator sees it. Functions are called by the thread of its
// place, one at a time for each work, and by those of several places at once.
struct Work {
  std::string name = {};
  double step_s = 0;  // predicted, until it is known
  int64_t steps = 1;  // in all
  double priority = 0;
  double deadline_s = 0;  // from the begin of the orchestrator on; 0: none

  // Opens the device for it. Null: one of its own choice.
  std::function<std::unique_ptr<runtime::Backend>(
      std::optional<DeviceId> device, runtime::Budget budget)>
      open = {};
  // Makes the run, from the newest checkpoint where there is one.
  std::function<std::unique_ptr<Run>(runtime::Backend& device)> begin = {};
  // It is on a device, or on none for now. May be empty.
  std::function<void(const runtime::Backend* device)> moved = {};
  // It will not go on: it ended; was interrupted, null where it had not begun;
  // or failed, with the error and maybe without a run.
  std::function<void(Run* run, std::exception_ptr error)> end = {};
};

struct OrchestratorOptions {
  JobDevices devices = {};          // at_once is known
  std::function<bool()> stop = {};  // asked before every step, by all threads
  // What people should know: a device is left out. Any thread.
  std::function<void(const std::string& text)> say = {};
};

// How a device spent its time since the orchestrator began.
struct DeviceUse {
  DeviceId id = {};
  std::vector<std::string> works = {};  // that are there now
  runtime::ComputeTimes times = {};
  int64_t memory_bytes = 0;
  int64_t limit_bytes = kNoLimit;
  bool is_left_out = false;
};

class Orchestrator {
 public:
  // Borrows the policy. Throws as the policy does for works that it has no
  // value of.
  Orchestrator(std::vector<Work> works, const schedule::Policy& policy,
               OrchestratorOptions options);
  ~Orchestrator();

  // Blocks until all works have ended, or were interrupted by `stop`. A work
  // that fails on one device is tried on another once, from its newest
  // checkpoint; a device on which two failed in a row is left out.
  Ending run();

  // While it runs, from any thread: one more work, which it waits for too; its
  // number, in order of arrival.
  size_t add(Work work);
  // Any thread. A work that trains ends after its step, with a checkpoint; one
  // that has not begun never does.
  void stop(size_t number);
  // Any thread.
  std::vector<DeviceUse> devices() const;

 private:
  struct Item;
  struct Place;
  struct Device;
  using Clock = std::chrono::steady_clock;

  void make_places();
  void work_at(Place& place);
  Item* take(Place& place);
  void put_back(Place& place, Item& item, const std::exception_ptr& error,
                bool has_ended);
  bool train(Place& place, Item& item);
  void enter(Place& place, Item& item);
  void leave(Place& place, Item& item);
  bool should_give_way(const Place& place, const Item& item) const;
  void note_progress(Item& item, int64_t ticks, double seconds);
  void update_view(Item& item);
  double key_of(const Item& item) const;
  bool is_device_failure(const Item& item, const Place& place,
                         const std::exception_ptr& error) const;
  std::string note_device_failure(Place& place, Item& item,
                                  const std::exception_ptr& error);
  void end_item(Item& item, const std::exception_ptr& error);

  const schedule::Policy& policy_;
  OrchestratorOptions options_;
  Clock::time_point begin_ = Clock::now();
  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Item>> items_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Place>> places_;
  double measured_s_ = 0, predicted_s_ = 0;  // of steps of all that have begun
  bool is_interrupted_ = false;
  std::exception_ptr fatal_;  // of a callback: nothing goes on
};

}  // namespace braid::train
