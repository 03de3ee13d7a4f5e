#include "braid/cli/array_display.h"

#include <fmt/format.h>

#include <algorithm>

namespace braid::cli {
namespace {

using train::ArrayReport;
using train::MemberReport;
using train::MemberState;

constexpr int kRowsForOthers = 6;  // bar, sums, titles, hidden, what is above

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

bool have_all_ended(const ArrayReport& report) {
  return std::ranges::all_of(report.members, has_ended);
}

}  // namespace

ArrayDisplay::ArrayDisplay(ArrayDisplayOptions options, std::FILE* out)
    : block_(out), options_(options), start_(Clock::now()), last_(start_) {}

void ArrayDisplay::on_array(const ArrayReport& report) {
  if (options_.quiet) return;
  if (said_.empty()) begin(report);
  say_events(report);
  if (is_due(report)) show(report);
}

// Rates count from the first report on; what was done before a resume is no
// event.
void ArrayDisplay::begin(const ArrayReport& report) {
  start_ = last_ = Clock::now();
  first_steps_ = report.model_steps;
  first_samples_ = report.samples;
  for (const MemberReport& member : report.members) {
    said_.push_back({member.state, member.evaluation});
  }
  show(report);
}

void ArrayDisplay::on_message(train::LogLevel level, std::string_view text) {
  if (level <= options_.shown) block_.print(text);
}

bool ArrayDisplay::is_due(const ArrayReport& report) const {
  double period_s =
      block_.is_in_place() ? options_.redraw_period_s : options_.plain_period_s;
  if (seconds_between(last_, Clock::now()) >= period_s) return true;
  return !has_ended_ && have_all_ended(report);
}

void ArrayDisplay::show(const ArrayReport& report) {
  last_ = Clock::now();
  has_ended_ = have_all_ended(report);
  if (!block_.is_in_place()) {
    return block_.print(plain_members_text(report, rates(report)));
  }
  int rows = std::max(1, block_.height() - kRowsForOthers);
  block_.draw(draw_members(report, rates(report),
                           {.width = block_.width(),
                            .most_rows = static_cast<size_t>(rows),
                            .utf8 = block_.has_utf8()}));
}

// A table shows the others by itself.
void ArrayDisplay::say_events(const ArrayReport& report) {
  for (size_t i = 0; i < said_.size(); ++i) {
    const MemberReport& member = report.members[i];
    std::string text = event_text(member, said_[i]);
    bool failed = member.state == MemberState::kFailed;
    if (!text.empty() && (failed || !block_.is_in_place())) block_.print(text);
  }
}

// "eval  lr=0.1  step 300  loss 0.12", "done  lr=0.1  step 900"; empty when
// nothing happened.
std::string ArrayDisplay::event_text(const MemberReport& member,
                                     Said& said) const {
  std::string what, values;
  if (member.evaluation != said.evaluation) {
    said.evaluation = member.evaluation;
    what = "eval";
    values = scalars_text(member.evaluation);
  }
  if (member.state != said.state) {
    said.state = member.state;
    if (has_ended(member)) what = state_text(member.state);
    if (has_ended(member)) values = scalars_text(member.evaluation);
  }
  if (what.empty()) return "";
  return join_words(
      {what, member.name, fmt::format("step {}", member.step), values});
}

ArrayRates ArrayDisplay::rates(const ArrayReport& report) const {
  double seconds = seconds_between(start_, last_);
  return {static_cast<double>(report.model_steps - first_steps_) / seconds,
          static_cast<double>(report.samples - first_samples_) / seconds};
}

void ArrayDisplay::done(std::vector<JobResult> results,
                        const std::string& out) {
  finish();
  std::string metric = ranking_metric(results);
  sort_results(results, metric);
  if (!options_.quiet) {
    for (const std::string& line :
         leaderboard_lines(results, metric, block_.width())) {
      block_.print(line);
    }
  }
  block_.print(summary_line(results, metric, out));
}

}  // namespace braid::cli
