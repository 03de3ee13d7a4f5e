// JoinedReport: several runs at once, each with a report of its own jobs, as
// one report of all of them for one listener.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "braid/train/run/listener.h"

namespace braid::train {

// Thread-safe; the listener is called by one thread at a time. Borrows both;
// the listener may be null.
class JoinedReport {
 public:
  // `devices` tells what they do; may be empty, and is called under no lock of
  // its own callers'.
  JoinedReport(ArrayReport& all, Listener* listener,
               std::function<std::vector<DeviceReport>()> devices = {});

  // What one run reports to, from one thread at a time; its report has a row
  // for every job of the list.
  class Part;
  std::unique_ptr<Part> part(std::vector<size_t> numbers);

  // Calls it while no run reports.
  template <class Call>
  auto locked(Call call) {
    std::lock_guard lock(mutex_);
    return call();
  }

 private:
  void take_devices();

  std::mutex mutex_;
  ArrayReport& all_;
  Listener* listener_;
  std::function<std::vector<DeviceReport>()> devices_;
};

class JoinedReport::Part : public Listener {
 public:
  Part(JoinedReport& whole, std::vector<size_t> numbers);

  ArrayReport& report() { return report_; }
  // Where the run is; empty: it waits for a device.
  void move_to(std::string device);
  // Brings the whole up to date.
  void finish();

  void on_array(const ArrayReport& report) override;
  void on_message(LogLevel level, std::string_view text) override;
  std::string trouble() const override;

 private:
  using Clock = std::chrono::steady_clock;
  bool is_due(Clock::time_point now) const;
  void join();

  JoinedReport& whole_;
  std::vector<size_t> numbers_;
  ArrayReport report_;
  std::string device_;
  std::vector<MemberState> told_;  // by number in the list above
  int64_t told_steps_ = 0, told_samples_ = 0, told_memory_ = 0;
  Clock::time_point last_ = {};
};

}  // namespace braid::train
