#include "braid/runtime/waits.h"

#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace braid::runtime {
namespace {

constexpr double kWindow = 0.03;    // seconds that are looked at on quiet cores
constexpr double kMuchLost = 0.25;  // share of a window without a core
constexpr double kLittleLost = 0.05;
constexpr double kShortHold = 1, kLongHold = 8;  // seconds
constexpr double kSoon = 1;  // seconds within which a hold was over too early

double now_s() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double seconds_of(const timespec& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

// Of cores that the process has had.
double process_s() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return seconds_of(time);
}

double num_cores() {
  static const unsigned count = std::thread::hardware_concurrency();
  return std::max(count, 1u);
}

}  // namespace

bool CoreWatch::is_shared(double now_s, double delay_s) {
  if (!begun_) {
    begun_ = true;
    quiet_since_s_ = now_s - kLongHold;
    begin(now_s, delay_s, kWindow);
  }
  if (now_s < next_s_) return shared_;
  double lost = (delay_s - begin_delay_s_) / (now_s - begin_s_);
  if (!shared_ && lost > kMuchLost) {
    bool too_early = now_s - quiet_since_s_ < kSoon;
    hold_s_ = too_early ? std::min(2 * hold_s_, kLongHold) : kShortHold;
    shared_ = true;
  } else if (shared_ && lost < kLittleLost) {
    quiet_since_s_ = now_s;
    shared_ = false;
  }
  begin(now_s, delay_s, shared_ ? hold_s_ : kWindow);
  return shared_;
}

void CoreWatch::begin(double now_s, double delay_s, double length_s) {
  begin_s_ = now_s;
  begin_delay_s_ = delay_s;
  next_s_ = now_s + length_s;
}

std::optional<double> run_delay_s() {
  int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::array<char, 96> text;
  ssize_t count = ::read(file, text.data(), text.size());
  ::close(file);
  if (count <= 0) return std::nullopt;
  // Nanoseconds on a core, nanoseconds ready for one, turns.
  const char *begin = text.data(), *end = begin + count;
  const char* second = std::find(begin, end, ' ');
  int64_t nanoseconds = 0;
  if (second == end ||
      std::from_chars(second + 1, end, nanoseconds).ec != std::errc()) {
    return std::nullopt;
  }
  return static_cast<double>(nanoseconds) * 1e-9;
}

std::optional<double> core_s(std::thread& thread) {
  clockid_t clock = 0;
  timespec time = {};
  if (!thread.joinable() ||
      pthread_getcpuclockid(thread.native_handle(), &clock) != 0 ||
      clock_gettime(clock, &time) != 0) {
    return std::nullopt;
  }
  return seconds_of(time);
}

bool Waits::is_due() const { return now_s() >= watch_.next_s(); }

void Waits::look(double own_s) {
  double now = now_s();
  if (now < watch_.next_s()) return;
  Sums sums{run_delay_s().value_or(0) - own_s, now * num_cores() - process_s()};
  taken_s_ +=
      std::min(sums.waited_s - before_.waited_s, sums.left_s - before_.left_s);
  before_ = sums;
  bool shared = watch_.is_shared(now, taken_s_);
  if (shared && !short_) short_ = std::make_unique<ShortWaits>();
  if (!shared) short_ = nullptr;
}

}  // namespace braid::runtime
