#include "braid/cli/display/array_display.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "braid/cli/output.h"

namespace braid::cli {
namespace {

using train::ArrayReport;
using train::MemberReport;
using train::MemberState;

constexpr int kRowsForOthers = 6;  // bar, sums, titles, hidden, what is above

constexpr size_t kMostPlaces = 41;  // of a leaderboard, with its title
constexpr int kWidthOfFiles = 400;  // what is no terminal has no edge

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

constexpr const char* kAveragedWords =
    "metrics are of averaged weights (ema), raw ones of the weights themselves";

bool are_averaged(const std::vector<JobResult>& results) {
  return std::ranges::any_of(
      results, [](const JobResult& result) { return !result.raw.empty(); });
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
  say_failures(report);
  if (is_due(report)) show(report);
}

// Rates count from the first report on; what was done before a resume is no
// event.
void ArrayDisplay::begin(const ArrayReport& report) {
  start_ = last_ = Clock::now();
  first_steps_ = report.model_steps;
  first_samples_ = report.samples;
  for (const MemberReport& member : report.members) {
    said_.push_back(member.state);
  }
  show(report);
}

void ArrayDisplay::on_message(train::LogLevel level, std::string_view text) {
  if (level <= options_.shown) block_.print(text);
}

std::string ArrayDisplay::trouble() const { return run_trouble(); }

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
    options_.plain_period_s =
        longer_pause(options_.plain_period_s, options_.most_plain_period_s);
    return block_.print(plain_members_text(report, rates(report)));
  }
  int rows = std::max(1, block_.height() - kRowsForOthers);
  block_.draw(draw_members(report, rates(report),
                           {.width = block_.width(),
                            .most_rows = static_cast<size_t>(rows),
                            .utf8 = block_.has_utf8()}));
}

// "failed: NaN  lr=0.1  step 300"
void ArrayDisplay::say_failures(const ArrayReport& report) {
  for (size_t i = 0; i < said_.size(); ++i) {
    const MemberReport& member = report.members[i];
    if (std::exchange(said_[i], member.state) == member.state) continue;
    if (member.state != MemberState::kFailed) continue;
    block_.print(
        join_words({state_text(member.state, member.is_error), member.name,
                    fmt::format("step {}", member.step)}));
  }
}

ArrayRates ArrayDisplay::rates(const ArrayReport& report) const {
  double seconds = seconds_between(start_, last_);
  return {static_cast<double>(report.model_steps - first_steps_) / seconds,
          static_cast<double>(report.samples - first_samples_) / seconds};
}

// A terminal gets the best ones, a file all of them.
void ArrayDisplay::print_leaderboard(const std::vector<JobResult>& results,
                                     const std::string& metric) {
  bool in_place = block_.is_in_place();
  std::vector<std::string> lines = leaderboard_lines(
      results, metric, in_place ? block_.width() : kWidthOfFiles);
  size_t shown = in_place ? std::min(lines.size(), kMostPlaces) : lines.size();
  if (are_averaged(results)) block_.print(kAveragedWords);
  for (size_t i = 0; i < shown; ++i) block_.print(lines[i]);
  size_t hidden = lines.size() - shown;
  if (hidden > 0) block_.print(fmt::format("  ... {} more", hidden));
}

void ArrayDisplay::done(std::vector<JobResult> results,
                        const std::string& out) {
  finish();
  std::string metric = ranking_metric(results);
  sort_results(results, metric);
  if (!options_.quiet) print_leaderboard(results, metric);
  block_.print(summary_line(results, metric, out));
}

}  // namespace braid::cli
