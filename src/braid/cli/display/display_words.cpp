#include "braid/cli/display/display_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "braid/base/bytes.h"
#include "braid/cli/display/terminal.h"

namespace braid::cli {
namespace {

constexpr int kLeastBar = 10, kMostBar = 40;

std::string bar_text(double fraction, int width, bool utf8) {
  auto full = static_cast<int>(fraction * width);
  std::string bar;
  for (int i = 0; i < width; ++i) {
    bar += i < full ? (utf8 ? "━" : "#") : (utf8 ? "─" : "-");
  }
  return bar;
}

}  // namespace

std::string join_words(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (word.empty()) continue;
    line += line.empty() ? word : "  " + word;
  }
  return line;
}

std::string bar_line(double fraction, const std::string& rest,
                     const DrawOptions& options) {
  std::string percent = fmt::format("{:>3.0f} %", std::floor(fraction * 100));
  int room = options.width - text_width(percent) - text_width(rest) - 4;
  if (room < kLeastBar) return join_words({percent, rest});
  int width = std::min(room, kMostBar);
  return join_words({percent, bar_text(fraction, width, options.utf8), rest});
}

std::string rate_text(double lr) {
  std::string text = fmt::format("{:.1e}", lr);
  size_t zero = text.size() - 2;
  if (text[zero] == '0') text.erase(zero, 1);
  return text;
}

std::string speed_text(double speed) {
  if (!std::isfinite(speed)) return "-";
  return speed < 100 ? fmt::format("{:.3g}", speed)
                     : fmt::format("{:.0f}", speed);
}

std::string memory_text(int64_t bytes, int64_t limit_bytes) {
  if (bytes <= 0) return "";
  std::string text = bytes_text(bytes);
  return limit_bytes <= 0 ? text : text + " of " + bytes_text(limit_bytes);
}

std::string span_text(const std::vector<double>& losses) {
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

std::string scalars_text(const io::Scalars& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text += fmt::format("{}{} {:.4g}", text.empty() ? "" : "  ", name, value);
  }
  return text;
}

std::string evaluation_text(const io::Scalars& values, const io::Scalars& raw) {
  if (raw.empty()) return scalars_text(values);
  return fmt::format("{}  (averaged weights; raw: {})", scalars_text(values),
                     scalars_text(raw));
}

std::string best_text(const train::BestReport& best) {
  if (!best.value) return "";
  return fmt::format("best {} {:.4g} at step {}", best.metric, *best.value,
                     best.step);
}

std::string duration_text(double seconds) {
  if (!(seconds < 1e8)) return "-";
  auto s = static_cast<int64_t>(std::ceil(seconds));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
}

double longer_pause(double pause_s, double most_s) {
  return std::max(pause_s, std::min(pause_s * 1.5, most_s));
}

double done_fraction(int64_t step, int64_t steps) {
  if (steps <= 0) return 0;
  auto fraction = static_cast<double>(step) / static_cast<double>(steps);
  return std::clamp(fraction, 0.0, 1.0);
}

}  // namespace braid::cli
