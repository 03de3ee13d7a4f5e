#include "braid/cli/display_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "braid/base/bytes.h"
#include "braid/cli/terminal.h"

namespace braid::cli {
namespace {

constexpr int kLeastBar = 10, kMostBar = 40;

using Words = std::vector<std::string>;

// Two spaces between words; empty ones are left out.
std::string join_words(const Words& words) {
  std::string line;
  for (const std::string& word : words) {
    if (word.empty()) continue;
    line += line.empty() ? word : "  " + word;
  }
  return line;
}

std::string span_text(const std::vector<double>& losses) {
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

std::string loss_text(const DisplayState& state) {
  std::vector<double> losses;
  for (const DisplayRow& row : state.rows) {
    if (row.loss) losses.push_back(*row.loss);
  }
  if (losses.empty()) return "";
  return "loss " + (losses.size() == 1 ? fmt::format("{:.4g}", losses[0])
                                       : span_text(losses));
}

// 3.0e-4
std::string rate_text(double lr) {
  std::string text = fmt::format("{:.1e}", lr);
  size_t zero = text.size() - 2;
  if (text[zero] == '0') text.erase(zero, 1);
  return text;
}

// Only for one model: those of several are in their rows.
std::string lr_text(const DisplayState& state) {
  if (state.rows.size() != 1 || !state.rows[0].lr) return "";
  return "lr " + rate_text(*state.rows[0].lr);
}

std::string speed_text(const DisplayState& state) {
  bool samples = state.samples_per_step > 0;
  double speed = state.steps_per_s;
  if (samples) speed *= static_cast<double>(state.samples_per_step);
  std::string number = !std::isfinite(speed) ? "-"
                       : speed < 100         ? fmt::format("{:.3g}", speed)
                                             : fmt::format("{:.0f}", speed);
  return number + (samples ? " samples/s" : " steps/s");
}

std::string memory_text(const DisplayState& state) {
  if (state.memory_bytes <= 0) return "";
  std::string text = bytes_text(state.memory_bytes);
  return state.limit_bytes <= 0 ? text
                                : text + " of " + bytes_text(state.limit_bytes);
}

std::string step_text(const DisplayState& state) {
  std::string total = fmt::format("{}", state.steps);
  return fmt::format("step  {:>{}}/{}", state.step, total.size(), total);
}

std::string epoch_text(const DisplayState& state) {
  if (!state.epoch) return "";
  std::string text = fmt::format("epoch {:.1f}", *state.epoch);
  return state.epochs ? text + fmt::format("/{:.3g}", *state.epochs) : text;
}

std::string eta_text(const DisplayState& state) {
  auto left = static_cast<double>(state.steps - state.step);
  return "eta " + duration_text(left / state.steps_per_s);
}

double done_fraction(const DisplayState& state) {
  if (state.steps <= 0) return 0;
  auto fraction =
      static_cast<double>(state.step) / static_cast<double>(state.steps);
  return std::clamp(fraction, 0.0, 1.0);
}

std::string bar_text(double fraction, int width, bool utf8) {
  auto full = static_cast<int>(fraction * width);
  std::string bar;
  for (int i = 0; i < width; ++i) {
    bar += i < full ? (utf8 ? "━" : "#") : (utf8 ? "─" : "-");
  }
  return bar;
}

// " 62 %  ━━━━━━────  step  3100/5000  epoch 2.4/4  eta 1m42s"; the bar takes
// what is left of the line, and goes first when little is.
std::string bar_line(const DisplayState& state, const DrawOptions& options) {
  double fraction = done_fraction(state);
  std::string percent = fmt::format("{:>3.0f} %", std::floor(fraction * 100));
  std::string rest =
      join_words({step_text(state), epoch_text(state), eta_text(state)});
  int room = options.width - text_width(percent) - text_width(rest) - 4;
  if (room < kLeastBar) return join_words({percent, rest});
  int width = std::min(room, kMostBar);
  return join_words({percent, bar_text(fraction, width, options.utf8), rest});
}

std::string padded(const std::string& text, int width) {
  auto spaces = static_cast<size_t>(std::max(0, width - text_width(text)));
  return text + std::string(spaces, ' ');
}

std::string row_line(const DisplayRow& row, int name_width) {
  std::string loss = row.loss ? fmt::format("loss {:<9.4g}", *row.loss) : "";
  std::string lr = row.lr ? "lr " + rate_text(*row.lr) : "";
  return "  " + join_words({padded(row.name, name_width), loss, lr, row.note});
}

void add_rows(Words& lines, const DisplayState& state, size_t most_rows) {
  int name_width = 0;
  for (const DisplayRow& row : state.rows) {
    name_width = std::max(name_width, text_width(row.name));
  }
  size_t shown = std::min(state.rows.size(), most_rows);
  for (size_t i = 0; i < shown; ++i) {
    lines.push_back(row_line(state.rows[i], name_width));
  }
  size_t hidden = state.rows.size() - shown;
  if (hidden > 0) lines.push_back(fmt::format("  and {} more", hidden));
}

}  // namespace

std::string plain_text(const DisplayState& state) {
  return join_words({step_text(state), epoch_text(state), loss_text(state),
                     lr_text(state), speed_text(state), memory_text(state),
                     eta_text(state)});
}

Words draw(const DisplayState& state, const DrawOptions& options) {
  Words lines = {bar_line(state, options),
                 join_words({loss_text(state), lr_text(state),
                             speed_text(state), memory_text(state)})};
  if (state.rows.size() > 1) add_rows(lines, state, options.most_rows);
  if (!state.evaluation.empty()) lines.push_back("eval  " + state.evaluation);
  for (std::string& line : lines) line = fit_text(line, options.width);
  return lines;
}

std::string duration_text(double seconds) {
  if (!(seconds < 1e8)) return "-";
  auto s = static_cast<int64_t>(std::ceil(seconds));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
}

}  // namespace braid::cli
