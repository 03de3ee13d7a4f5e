// Progress of a run: one line in place on a terminal, else a plain line about
// every two seconds.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace braid::cli {

// "step  40/100  loss 1.284  8.4 steps/s  eta 7s"; members' losses are a span.
std::string progress_text(int64_t step, int64_t steps,
                          const std::vector<double>& losses,
                          double steps_per_s);

class Progress {
 public:
  // Counts its rate from now on, from step `first`.
  Progress(std::FILE* out, int64_t first, int64_t steps);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // After each step; writes when it is time, and for the last step.
  void update(int64_t step, const std::vector<double>& losses);

  // Writes the newest state, if it was not, and ends the line.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void write();

  std::FILE* out_;
  bool terminal_;
  int64_t first_, steps_;
  int64_t step_ = 0, written_ = -1;
  std::vector<double> losses_;
  Clock::time_point start_, last_;
};

}  // namespace braid::cli
