#include "braid/cli/display/display.h"

#include <algorithm>

namespace braid::cli {
namespace {

constexpr int kRowsForOthers = 6;  // bar, sums, evaluation, what is above

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

Display::Display(std::FILE* out, DisplayOptions options)
    : block_(out), options_(options), start_(Clock::now()), last_(start_) {}

void Display::update(const DisplayState& state) {
  state_ = state;
  shown_ = false;
  if (is_due()) show();
}

void Display::message(std::string_view text) {
  if (!options_.quiet) block_.print(text);
}

void Display::finish() {
  if (!shown_) show();
  block_.end();
}

void Display::done(std::string_view text) {
  finish();
  block_.print(text);
}

bool Display::is_due() const {
  double period_s =
      block_.is_in_place() ? options_.redraw_period_s : options_.plain_period_s;
  bool evaluated = !block_.is_in_place() && state_.evaluation != evaluation_;
  return state_.step == state_.steps || evaluated ||
         seconds_between(last_, Clock::now()) >= period_s;
}

void Display::show() {
  shown_ = true;
  last_ = Clock::now();
  if (options_.quiet) return;
  auto steps = static_cast<double>(state_.step - options_.first_step);
  state_.steps_per_s = steps / seconds_between(start_, last_);
  block_.is_in_place() ? show_block() : show_plain();
}

void Display::show_plain() {
  options_.plain_period_s =
      longer_pause(options_.plain_period_s, options_.most_plain_period_s);
  if (state_.step != plain_step_) block_.print(plain_text(state_));
  plain_step_ = state_.step;
  if (state_.evaluation == evaluation_) return;
  evaluation_ = state_.evaluation;
  block_.print("eval  " + evaluation_);
}

void Display::show_block() {
  int rows = block_.height() - kRowsForOthers;
  block_.draw(draw(state_, {.width = block_.width(),
                            .most_rows = static_cast<size_t>(std::max(1, rows)),
                            .utf8 = block_.has_utf8()}));
}

}  // namespace braid::cli
