#include "braid/cli/display/member_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include "braid/cli/display/table.h"
#include "braid/cli/display/terminal.h"

namespace braid::cli {
namespace {

using train::ArrayReport;
using train::MemberReport;
using train::MemberState;
using Members = std::span<const MemberReport>;

constexpr std::array<MemberState, 7> kStates = {
    MemberState::kTraining, MemberState::kWaiting,      MemberState::kPaused,
    MemberState::kDone,     MemberState::kStoppedEarly, MemberState::kStopped,
    MemberState::kFailed};

// Steps of all members; one that ended has none left.
struct Progress {
  int64_t done = 0;   // or not to be done any more
  int64_t steps = 0;  // in all
};

Progress progress_of(const ArrayReport& report) {
  Progress progress;
  for (const MemberReport& member : report.members) {
    progress.done += has_ended(member) ? member.steps : member.step;
    progress.steps += member.steps;
  }
  return progress;
}

// "2 training, 1 done"
std::string states_text(Members members) {
  std::string text;
  for (MemberState state : kStates) {
    auto count = std::ranges::count(members, state, &MemberReport::state);
    if (count == 0) continue;
    std::string word = state_text(state);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count,
                        word.substr(0, word.find(':')));
  }
  return text;
}

std::string steps_text(const Progress& progress) {
  std::string total = fmt::format("{}", progress.steps);
  return fmt::format("step  {:>{}}/{}", progress.done, total.size(), total);
}

std::string eta_text(const Progress& progress, const ArrayRates& rates) {
  auto left = static_cast<double>(progress.steps - progress.done);
  return "eta " + duration_text(left > 0 ? left / rates.model_steps : 0);
}

std::string speeds_text(const ArrayRates& rates) {
  return fmt::format("{} model-steps/s  {} samples/s",
                     speed_text(rates.model_steps), speed_text(rates.samples));
}

// What is done and held; how many members stand how where there is room.
std::string sums_line(const ArrayReport& report, const ArrayRates& rates,
                      int width) {
  std::string memory = memory_text(report.memory_bytes, report.limit_bytes);
  std::string sums = join_words({speeds_text(rates), memory});
  std::string line = join_words({sums, states_text(report.members)});
  if (text_width(line) <= width) return line;
  auto ended = std::ranges::count_if(report.members, has_ended);
  return join_words(
      {sums, fmt::format("{} of {} ended", ended, report.members.size())});
}

// "  cpu:1   92 % busy, 5 % copies  3.91 MiB of 4.00 MiB  lr=1e-3"
std::string device_line(const train::DeviceReport& device, int name_width) {
  std::string jobs;
  for (const std::string& job : device.jobs) {
    jobs += (jobs.empty() ? "" : ", ") + job;
  }
  if (jobs.empty()) jobs = device.is_left_out ? "left out" : "idle";
  std::string times = fmt::format("{:3.0f} % busy, {:2.0f} % copies",
                                  100 * device.busy, 100 * device.copies);
  return fmt::format(
      "  {:<{}}  {}", device.name, name_width,
      join_words(
          {times, memory_text(device.memory_bytes, device.limit_bytes), jobs}));
}

std::vector<std::string> device_lines(
    const std::vector<train::DeviceReport>& devices) {
  constexpr size_t kMostShown = 8;
  std::vector<std::string> lines;
  size_t width = 0;
  for (const auto& device : devices) {
    width = std::max(width, device.name.size());
  }
  for (size_t i = 0; i < std::min(devices.size(), kMostShown); ++i) {
    lines.push_back(device_line(devices[i], static_cast<int>(width)));
  }
  if (devices.size() > kMostShown) {
    lines.push_back(
        fmt::format("  ... {} more devices", devices.size() - kMostShown));
  }
  return lines;
}

std::string epoch_text(const MemberReport& member) {
  std::string text = fmt::format("{:.1f}", member.epoch);
  return member.epochs ? text + fmt::format("/{:.3g}", *member.epochs) : text;
}

std::string number_text(const std::optional<double>& number) {
  return number ? fmt::format("{:.4g}", *number) : "-";
}

// That of all members which have one, or "eval".
std::string metric_title(const ArrayReport& report) {
  std::string title;
  for (const MemberReport& member : report.members) {
    const auto* metric = main_metric(member.evaluation, member.best.metric);
    if (!metric || metric->first == title) continue;
    if (!title.empty()) return "eval";
    title = metric->first;
  }
  return title.empty() ? "eval" : title == "loss" ? "eval loss" : title;
}

template <class Text>
std::vector<std::string> cells_of(Members members, const Text& text) {
  std::vector<std::string> cells;
  for (const MemberReport& member : members) cells.push_back(text(member));
  return cells;
}

std::vector<Column> columns_of(const ArrayReport& report, Members shown) {
  auto metric = [](const MemberReport& m) {
    const auto* value = main_metric(m.evaluation, m.best.metric);
    return value ? fmt::format("{:.4g}", value->second) : "-";
  };
  std::vector<Column> columns = {
      {"name", cells_of(shown, [](const auto& m) { return m.name; })},
      {"step",
       cells_of(
           shown,
           [](const auto& m) { return fmt::format("{}/{}", m.step, m.steps); }),
       true},
      {"epoch", cells_of(shown, epoch_text), true, 0, 2},
      {"loss",
       cells_of(shown, [](const auto& m) { return number_text(m.loss); }), true,
       9},
      {"lr",
       cells_of(shown,
                [](const auto& m) { return m.lr ? rate_text(*m.lr) : "-"; }),
       true, 6, 1},
      {metric_title(report), cells_of(shown, metric), true, 6},
      {"state",
       cells_of(shown,
                [](const auto& m) { return state_text(m.state, m.is_error); }),
       false, 8}};
  if (report.devices.empty()) return columns;
  columns.push_back({"device",
                     cells_of(shown, [](const auto& m) { return m.device; }),
                     false, 6, 3});
  return columns;
}

// Less is better. Those without a number come last, failed ones after them.
std::pair<double, double> rank_of(const MemberReport& member) {
  constexpr double kLast = std::numeric_limits<double>::infinity();
  auto or_last = [](double x) { return std::isnan(x) ? kLast : x; };
  if (member.state == MemberState::kFailed) return {kLast, kLast};
  double value = member.best.value.value_or(kLast);
  if (member.best.value && member.best.higher_is_better) value = -value;
  double loss = or_last(member.loss.value_or(kLast));
  return {or_last(value), std::min(loss, std::numeric_limits<double>::max())};
}

// As the list has them when all fit, else best first.
std::vector<MemberReport> in_order(Members members, size_t most_rows) {
  std::vector<MemberReport> all(members.begin(), members.end());
  if (all.size() > most_rows) std::ranges::stable_sort(all, {}, rank_of);
  return all;
}

std::string hidden_text(Members hidden) {
  return fmt::format("  ... {} more: {}", hidden.size(), states_text(hidden));
}

// "best lr=1e-3: accuracy 0.97"; empty before the first evaluation.
std::string best_text(Members members) {
  auto best = std::ranges::min_element(members, {}, rank_of);
  if (best == members.end() || best->state == MemberState::kFailed) return "";
  if (!best->best.value) return "";
  return fmt::format("best {}: {} {:.4g}", best->name, best->best.metric,
                     *best->best.value);
}

std::string loss_text(const ArrayReport& report) {
  std::vector<double> losses;
  for (const MemberReport& member : report.members) {
    if (member.loss) losses.push_back(*member.loss);
  }
  return losses.empty() ? "" : "loss " + span_text(losses);
}

}  // namespace

std::string state_text(MemberState state, bool is_error) {
  switch (state) {
    case MemberState::kWaiting: return "waiting";
    case MemberState::kTraining: return "training";
    case MemberState::kPaused: return "paused";
    case MemberState::kDone: return "done";
    case MemberState::kStoppedEarly: return "stopped early";
    case MemberState::kStopped: return "stopped";
    case MemberState::kFailed: return is_error ? "failed" : "failed: NaN";
  }
  return "";
}

bool has_ended(const MemberReport& member) {
  return train::has_ended(member.state);
}

const std::pair<std::string, double>* main_metric(const io::Scalars& values,
                                                  const std::string& metric) {
  for (const auto& value : values) {
    if (value.first == metric) return &value;
  }
  for (const auto& value : values) {
    if (value.first != "loss") return &value;
  }
  return values.empty() ? nullptr : &values[0];
}

std::vector<std::string> draw_members(const ArrayReport& report,
                                      const ArrayRates& rates,
                                      const DrawOptions& options) {
  Progress progress = progress_of(report);
  std::string rest =
      join_words({steps_text(progress), eta_text(progress, rates)});
  std::vector<std::string> lines = {
      bar_line(done_fraction(progress.done, progress.steps), rest, options),
      sums_line(report, rates, options.width)};
  std::vector<std::string> devices = device_lines(report.devices);
  size_t most_rows = options.most_rows > devices.size()
                         ? options.most_rows - devices.size()
                         : 1;
  std::ranges::move(devices, std::back_inserter(lines));
  std::vector<MemberReport> ordered = in_order(report.members, most_rows);
  Members all = ordered;
  Members shown = all.first(std::min(all.size(), most_rows));
  for (std::string& line :
       table_lines(columns_of(report, shown), options.width)) {
    lines.push_back(std::move(line));
  }
  if (shown.size() < all.size()) {
    lines.push_back(hidden_text(all.subspan(shown.size())));
  }
  for (std::string& line : lines) line = fit_text(line, options.width);
  return lines;
}

std::string plain_members_text(const ArrayReport& report,
                               const ArrayRates& rates) {
  Progress progress = progress_of(report);
  return join_words({"models", states_text(report.members),
                     steps_text(progress), loss_text(report),
                     best_text(report.members), speeds_text(rates),
                     memory_text(report.memory_bytes, report.limit_bytes),
                     eta_text(progress, rates)});
}

}  // namespace braid::cli
