#include "braid/cli/display.h"

#include <fmt/format.h>

#include <algorithm>

#include "braid/cli/terminal.h"

namespace braid::cli {
namespace {

constexpr int kRowsForOthers = 6;  // bar, sums, evaluation, what is above

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

std::string join_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += text.empty() ? line : "\n" + line;
  }
  return text;
}

}  // namespace

Display::Display(std::FILE* out, DisplayOptions options)
    : out_(out),
      options_(options),
      in_place_(can_redraw(out)),
      utf8_(has_utf8()),
      start_(Clock::now()),
      last_(start_) {}

Display::~Display() { end_block(); }

void Display::update(const DisplayState& state) {
  state_ = state;
  shown_ = false;
  if (is_due()) show();
}

void Display::message(std::string_view text) {
  if (options_.quiet) return;
  if (in_place_ && !block_.empty()) return write_block(text);
  write(fmt::format("{}\n", text));
}

void Display::finish() {
  if (!shown_) show();
  end_block();
}

void Display::done(std::string_view text) {
  finish();
  write(fmt::format("{}\n", text));
}

bool Display::is_due() const {
  double period_s =
      in_place_ ? options_.redraw_period_s : options_.plain_period_s;
  bool evaluated = !in_place_ && state_.evaluation != evaluation_;
  return state_.step == state_.steps || evaluated ||
         seconds_between(last_, Clock::now()) >= period_s;
}

void Display::show() {
  shown_ = true;
  last_ = Clock::now();
  if (options_.quiet) return;
  auto steps = static_cast<double>(state_.step - options_.first_step);
  state_.steps_per_s = steps / seconds_between(start_, last_);
  in_place_ ? write_block("") : show_plain();
}

void Display::show_plain() {
  if (state_.step != plain_step_) write(plain_text(state_) + "\n");
  plain_step_ = state_.step;
  if (state_.evaluation == evaluation_) return;
  evaluation_ = state_.evaluation;
  write(fmt::format("eval  {}\n", evaluation_));
}

// In one piece, so that nobody sees half of it.
void Display::write_block(std::string_view above) {
  std::string text = erase_text();
  if (!above.empty()) text += fmt::format("{}\n", above);
  // The last column stays free: some terminals wrap when it is written.
  int rows = terminal_height(out_) - kRowsForOthers;
  block_ = draw(state_, {.width = terminal_width(out_) - 1,
                         .most_rows = static_cast<size_t>(std::max(1, rows)),
                         .utf8 = utf8_});
  write(text + join_lines(block_));
}

// Back to the beginning of the block. Lines that were wider than the window
// is now were wrapped by it.
std::string Display::erase_text() const {
  if (block_.empty()) return "";
  int width = terminal_width(out_), rows = 0;
  for (const std::string& line : block_) {
    rows += std::max(1, (text_width(line) + width - 1) / width);
  }
  std::string up = rows > 1 ? fmt::format("\x1b[{}A", rows - 1) : "";
  return "\r" + up + "\x1b[J";
}

void Display::end_block() {
  if (!block_.empty()) write("\n");
  block_.clear();
}

void Display::write(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

}  // namespace braid::cli
