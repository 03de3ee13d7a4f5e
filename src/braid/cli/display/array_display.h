// ArrayDisplay: many jobs on the terminal, see listener.h for what it is told.
//
// On a terminal a table with one row per job, drawn again in place; elsewhere
// a plain line for all of them now and then, ever more rarely, and one for
// each job that fails. What else happens to single jobs is in their logs.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "braid/cli/display/block.h"
#include "braid/cli/display/leaderboard.h"
#include "braid/cli/display/member_table.h"
#include "braid/train/run/listener.h"

namespace braid::cli {

struct ArrayDisplayOptions {
  bool quiet = false;  // only the last line
  train::LogLevel shown = train::LogLevel::kInfo;
  double redraw_period_s = 0.1;     // least time between two tables
  double plain_period_s = 2;        // least time between two plain lines, first
  double most_plain_period_s = 60;  // later
};

// Borrows the stream, see block.h. One thread, the one that trains.
class ArrayDisplay : public train::Listener {
 public:
  explicit ArrayDisplay(ArrayDisplayOptions options = {},
                        std::FILE* out = stdout);

  void on_array(const train::ArrayReport& report) override;
  void on_message(train::LogLevel level, std::string_view text) override;
  std::string trouble() const override;

  // Ends what is drawn, so that other text may follow.
  void finish() { block_.end(); }
  // The last lines: the leaderboard, best first, and a summary, which is
  // written even when quiet. `out` is the folder that holds those of the jobs.
  void done(std::vector<JobResult> results, const std::string& out);

 private:
  using Clock = std::chrono::steady_clock;
  void begin(const train::ArrayReport& report);
  bool is_due(const train::ArrayReport& report) const;
  void show(const train::ArrayReport& report);
  void say_failures(const train::ArrayReport& report);
  void print_leaderboard(const std::vector<JobResult>& results,
                         const std::string& metric);
  ArrayRates rates(const train::ArrayReport& report) const;

  Block block_;
  ArrayDisplayOptions options_;
  // That were told, by member; empty before the first report.
  std::vector<train::MemberState> said_;
  int64_t first_steps_ = 0, first_samples_ = 0;
  bool has_ended_ = false;  // the last state was shown
  Clock::time_point start_, last_;
};

}  // namespace braid::cli
