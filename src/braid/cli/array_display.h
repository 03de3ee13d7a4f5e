// ArrayDisplay: many jobs on the terminal, see listener.h for what it is told.
//
// On a terminal a table with one row per job, drawn again in place; elsewhere
// a plain line for all of them now and then, and one for each event of a job.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "braid/cli/block.h"
#include "braid/cli/leaderboard.h"
#include "braid/cli/member_table.h"
#include "braid/train/listener.h"

namespace braid::cli {

struct ArrayDisplayOptions {
  bool quiet = false;  // only the last line
  train::LogLevel shown = train::LogLevel::kInfo;
  double redraw_period_s = 0.1;  // least time between two tables
  double plain_period_s = 2;     // least time between two plain lines
};

// Borrows the stream, see block.h. One thread, the one that trains.
class ArrayDisplay : public train::Listener {
 public:
  explicit ArrayDisplay(ArrayDisplayOptions options = {},
                        std::FILE* out = stdout);

  void on_array(const train::ArrayReport& report) override;
  void on_message(train::LogLevel level, std::string_view text) override;

  // Ends what is drawn, so that other text may follow.
  void finish() { block_.end(); }
  // The last lines: the leaderboard, best first, and a summary, which is
  // written even when quiet. `out` is the folder that holds those of the jobs.
  void done(std::vector<JobResult> results, const std::string& out);

 private:
  using Clock = std::chrono::steady_clock;
  // What was said of a job.
  struct Said {
    train::MemberState state = train::MemberState::kWaiting;
    io::Scalars evaluation;
  };

  void begin(const train::ArrayReport& report);
  bool is_due(const train::ArrayReport& report) const;
  void show(const train::ArrayReport& report);
  void say_events(const train::ArrayReport& report);
  std::string event_text(const train::MemberReport& member, Said& said) const;
  ArrayRates rates(const train::ArrayReport& report) const;

  Block block_;
  ArrayDisplayOptions options_;
  std::vector<Said> said_;  // by member; empty before the first report
  int64_t first_steps_ = 0, first_samples_ = 0;
  bool has_ended_ = false;  // the last state was shown
  Clock::time_point start_, last_;
};

}  // namespace braid::cli
