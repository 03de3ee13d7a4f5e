#include "braid/cli/display/run_display.h"

#include <algorithm>
#include <cstdio>

#include "braid/cli/output.h"
#include "fmt/format.h"

namespace braid::cli {

Display& RunDisplay::display(int64_t first_step) {
  if (!display_) {
    display_ = std::make_unique<Display>(
        out_, DisplayOptions{.quiet = quiet_, .first_step = first_step});
  }
  return *display_;
}

void RunDisplay::on_step(const train::StepReport& report) {
  Display& shown = display(report.step - 1);
  state_.step = report.step;
  state_.steps = report.steps;
  state_.epoch = report.epoch;
  state_.epochs = report.epochs;
  // The last batch of an epoch may be shorter.
  state_.samples_per_step = std::max(state_.samples_per_step, report.rows);
  state_.memory_bytes = report.memory_bytes;
  state_.rows.resize(report.networks.size());
  for (size_t i = 0; i < report.networks.size(); ++i) {
    const auto& network = report.networks[i];
    state_.rows[i].name = network.name;
    state_.rows[i].loss = network.loss;
    state_.rows[i].lr = network.lr;
  }
  shown.update(state_);
}

void RunDisplay::on_eval(int64_t step, const io::Scalars& values,
                         const io::Scalars& raw) {
  state_.evaluation =
      fmt::format("step {}  {}", step, evaluation_text(values, raw));
  if (display_) display_->update(state_);
}

void RunDisplay::on_message(train::LogLevel level, std::string_view text) {
  if (level > shown_) return;
  if (display_) return display_->message(text);
  write_text(out_, fmt::format("{}\n", text));
}

std::string RunDisplay::trouble() const { return run_trouble(); }

void RunDisplay::finish() {
  if (display_) display_->finish();
}

void RunDisplay::done(const train::Run& run, const std::string& out) {
  std::string line = join_words(
      {fmt::format("done   {} steps", run.steps_done()),
       evaluation_text(run.evaluation(), run.record().raw_evaluation),
       best_text(run.members()[0]->best()), out});
  display(run.steps_done()).done(line);
}

}  // namespace braid::cli
