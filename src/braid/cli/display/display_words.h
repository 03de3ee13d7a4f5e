// Pieces of lines that displays are made of: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "braid/io/run/scalars.h"
#include "braid/train/run/listener.h"

namespace braid::cli {

// How blocks are drawn.
struct DrawOptions {
  int width = 80;
  size_t most_rows = 16;  // further ones are counted
  bool utf8 = true;       // for the bar
};

// Two spaces between words; empty ones are left out.
std::string join_words(const std::vector<std::string>& words);

// " 62 %  ━━━━━━────  step  3100/5000  eta 1m42s"; the bar takes what is left
// of the line beside `rest`, and goes first when little is.
std::string bar_line(double fraction, const std::string& rest,
                     const DrawOptions& options);

// 3.0e-4
std::string rate_text(double lr);

// "8412", "0.31"; "-" when it is not finite.
std::string speed_text(double speed);

// "3.90 GiB of 4.00 GiB"; empty without bytes, and without a limit that alone.
std::string memory_text(int64_t bytes, int64_t limit_bytes);

// "0.5..1.5 (1 not finite)"; "0.5" when there is one; empty without any.
std::string span_text(const std::vector<double>& losses);

// "loss 0.0812  accuracy 0.9734"
std::string scalars_text(const io::Scalars& values);

// The values of an evaluation; with those of raw weights these are said, and
// that the others are of averaged ones.
std::string evaluation_text(const io::Scalars& values, const io::Scalars& raw);

// "best accuracy 0.97 at step 300"; empty without one.
std::string best_text(const train::BestReport& best);

// "1h05m", "2m03s", "7s"; "-" when it is not known.
std::string duration_text(double seconds);

// How much of so many steps is done: 0 to 1.
double done_fraction(int64_t step, int64_t steps);

// Plain lines become rarer: the pause after one that came after `pause_s`.
double longer_pause(double pause_s, double most_s);

}  // namespace braid::cli
