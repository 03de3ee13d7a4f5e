#include "braid/cli/display/display_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "braid/cli/display/terminal.h"

namespace braid::cli {
namespace {

using Words = std::vector<std::string>;

std::string loss_text(const DisplayState& state) {
  std::vector<double> losses;
  for (const DisplayRow& row : state.rows) {
    if (row.loss) losses.push_back(*row.loss);
  }
  return losses.empty() ? "" : "loss " + span_text(losses);
}

// Only for one model: those of several are in their rows.
std::string lr_text(const DisplayState& state) {
  if (state.rows.size() != 1 || !state.rows[0].lr) return "";
  return "lr " + rate_text(*state.rows[0].lr);
}

std::string speed_words(const DisplayState& state) {
  bool samples = state.samples_per_step > 0;
  double speed = state.steps_per_s;
  if (samples) speed *= static_cast<double>(state.samples_per_step);
  return speed_text(speed) + (samples ? " samples/s" : " steps/s");
}

std::string memory_words(const DisplayState& state) {
  return memory_text(state.memory_bytes, state.limit_bytes);
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
                     lr_text(state), speed_words(state), memory_words(state),
                     eta_text(state)});
}

Words draw(const DisplayState& state, const DrawOptions& options) {
  std::string rest =
      join_words({step_text(state), epoch_text(state), eta_text(state)});
  Words lines = {
      bar_line(done_fraction(state.step, state.steps), rest, options),
      join_words({loss_text(state), lr_text(state), speed_words(state),
                  memory_words(state)})};
  if (state.rows.size() > 1) add_rows(lines, state, options.most_rows);
  if (!state.evaluation.empty()) lines.push_back("eval  " + state.evaluation);
  for (std::string& line : lines) line = fit_text(line, options.width);
  return lines;
}

}  // namespace braid::cli
