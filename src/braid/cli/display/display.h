// Display: what a run shows while it runs.
//
// On a terminal a block of lines that is drawn again in place, with messages
// above it; elsewhere a plain line now and then.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "braid/cli/display/block.h"
#include "braid/cli/display/display_text.h"

namespace braid::cli {

struct DisplayOptions {
  bool quiet = false;               // only the last line, see done()
  int64_t first_step = 0;           // from which the rate is counted
  double redraw_period_s = 0.1;     // least time between two blocks
  double plain_period_s = 2;        // least time between two plain lines, first
  double most_plain_period_s = 60;  // later
};

// Borrows the stream, and nothing else may write to it meanwhile. Writing
// blocks; one thread. Destruction ends the block, so that an error message
// begins on a line of its own.
class Display {
 public:
  explicit Display(std::FILE* out, DisplayOptions options = {});

  // After each step; its rate is filled in here. Shown when it is time, and
  // when it is the last step.
  void update(const DisplayState& state);

  // A line that stays: above the block, or by itself.
  void message(std::string_view text);

  // Shows the newest state, if it was not, and ends the block.
  void finish();

  // finish(), then the line that is written even when quiet.
  void done(std::string_view text);

 private:
  using Clock = std::chrono::steady_clock;
  bool is_due() const;
  void show();
  void show_plain();
  void show_block();

  Block block_;
  DisplayOptions options_;
  DisplayState state_;
  std::string evaluation_;   // that was written as a plain line
  int64_t plain_step_ = -1;  // so was this one
  bool shown_ = true;        // state_ is on the screen
  Clock::time_point start_, last_;
};

}  // namespace braid::cli
