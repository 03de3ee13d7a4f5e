#include "braid/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "fmt/format.h"

namespace braid::cli {
namespace {

constexpr double kTerminalPeriod_s = 0.1;
constexpr double kPlainPeriod_s = 2;

std::string loss_text(const std::vector<double>& losses) {
  if (losses.empty()) return "";
  if (losses.size() == 1) return fmt::format("{:.4g}", losses[0]);
  double low = INFINITY, high = -INFINITY;
  int64_t broken = 0;
  for (double loss : losses) {
    if (!std::isfinite(loss)) {
      ++broken;
      continue;
    }
    low = std::min(low, loss);
    high = std::max(high, loss);
  }
  std::string text =
      low > high ? "-" : fmt::format("{:.4g}..{:.4g}", low, high);
  if (broken > 0) text += fmt::format(" ({} not finite)", broken);
  return text;
}

std::string duration_text(double seconds) {
  if (!(seconds < 1e8)) return "-";
  auto s = static_cast<int64_t>(std::ceil(seconds));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
}

std::string rate_text(double steps_per_s) {
  return steps_per_s < 100 ? fmt::format("{:.3g}", steps_per_s)
                           : fmt::format("{:.0f}", steps_per_s);
}

}  // namespace

std::string progress_text(int64_t step, int64_t steps,
                          const std::vector<double>& losses,
                          double steps_per_s) {
  std::string total = fmt::format("{}", steps);
  double left = static_cast<double>(steps - step) / steps_per_s;
  return fmt::format("step  {:>{}}/{}  loss {}  {} steps/s  eta {}", step,
                     total.size(), total, loss_text(losses),
                     rate_text(steps_per_s), duration_text(left));
}

Progress::Progress(std::FILE* out, int64_t first, int64_t steps)
    : out_(out),
      terminal_(::isatty(::fileno(out)) == 1),
      first_(first),
      steps_(steps),
      start_(Clock::now()),
      last_(start_) {}

Progress::~Progress() {
  // An error must not begin in the middle of the line.
  if (terminal_ && written_ >= 0) std::fputc('\n', out_);
  std::fflush(out_);
}

void Progress::update(int64_t step, const std::vector<double>& losses) {
  step_ = step;
  losses_ = losses;
  std::chrono::duration<double> since = Clock::now() - last_;
  double period_s = terminal_ ? kTerminalPeriod_s : kPlainPeriod_s;
  if (step_ == steps_ || since.count() >= period_s) write();
}

void Progress::finish() {
  if (step_ > 0 && written_ != step_) write();
}

void Progress::write() {
  last_ = Clock::now();
  written_ = step_;
  std::chrono::duration<double> ran = last_ - start_;
  double rate = static_cast<double>(step_ - first_) / ran.count();
  std::string text = progress_text(step_, steps_, losses_, rate);
  if (terminal_) {
    fmt::print(out_, "\r\x1b[K{}", text);
  } else {
    fmt::print(out_, "{}\n", text);
  }
  std::fflush(out_);
}

}  // namespace braid::cli
