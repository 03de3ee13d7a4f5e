#include "braid/train/jobs/joined_report.h"

#include <utility>

namespace braid::train {
namespace {

constexpr std::chrono::milliseconds kPause(20);  // between two reports of a run

}  // namespace

JoinedReport::JoinedReport(ArrayReport& all, Listener* listener,
                           std::function<std::vector<DeviceReport>()> devices)
    : all_(all), listener_(listener), devices_(std::move(devices)) {}

// Memory of several devices is theirs together.
void JoinedReport::take_devices() {
  all_.devices = devices_();
  if (all_.devices.empty()) return;
  all_.limit_bytes = 0;
  for (const DeviceReport& device : all_.devices) {
    all_.limit_bytes += device.limit_bytes;
  }
}

std::unique_ptr<JoinedReport::Part> JoinedReport::part(
    std::vector<size_t> numbers) {
  std::lock_guard lock(mutex_);
  return std::make_unique<Part>(*this, std::move(numbers));
}

// Made under the lock of the whole.
JoinedReport::Part::Part(JoinedReport& whole, std::vector<size_t> numbers)
    : whole_(whole),
      numbers_(std::move(numbers)),
      report_{.members = whole.all_.members} {
  for (size_t number : numbers_) {
    told_.push_back(report_.members[number].state);
  }
}

void JoinedReport::Part::move_to(std::string device) {
  device_ = std::move(device);
  if (device_.empty()) report_.memory_bytes = 0;
  finish();
}

void JoinedReport::Part::finish() {
  std::lock_guard lock(whole_.mutex_);
  join();
}

void JoinedReport::Part::on_array(const ArrayReport&) {
  if (!is_due(Clock::now())) return;
  std::lock_guard lock(whole_.mutex_);
  join();
  if (!whole_.listener_) return;
  if (whole_.devices_) whole_.take_devices();
  whole_.listener_->on_array(whole_.all_);
}

bool JoinedReport::Part::is_due(Clock::time_point now) const {
  if (now - last_ >= kPause) return true;
  for (size_t i = 0; i < numbers_.size(); ++i) {
    if (report_.members[numbers_[i]].state != told_[i]) return true;
  }
  return false;
}

// Under the lock of the whole.
void JoinedReport::Part::join() {
  last_ = Clock::now();
  ArrayReport& all = whole_.all_;
  for (size_t i = 0; i < numbers_.size(); ++i) {
    const MemberReport& own = report_.members[numbers_[i]];
    MemberReport& row = all.members[numbers_[i]] = own;
    told_[i] = own.state;
    bool trains = own.state == MemberState::kTraining;
    row.device = trains ? device_ : "";
    if (trains && device_.empty()) row.state = MemberState::kWaiting;
  }
  all.model_steps +=
      report_.model_steps - std::exchange(told_steps_, report_.model_steps);
  all.samples +=
      report_.samples - std::exchange(told_samples_, report_.samples);
  all.memory_bytes +=
      report_.memory_bytes - std::exchange(told_memory_, report_.memory_bytes);
  all.limit_bytes = report_.limit_bytes;
}

void JoinedReport::Part::on_message(LogLevel level, std::string_view text) {
  std::lock_guard lock(whole_.mutex_);
  if (whole_.listener_) whole_.listener_->on_message(level, text);
}

std::string JoinedReport::Part::trouble() const {
  std::lock_guard lock(whole_.mutex_);
  return whole_.listener_ ? whole_.listener_->trouble() : "";
}

}  // namespace braid::train
