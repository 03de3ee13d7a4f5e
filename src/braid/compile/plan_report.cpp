#include "braid/compile/plan_report.h"

#include <algorithm>

#include "braid/base/bytes.h"

namespace braid::compile {
namespace {

using plan::Decision;
using plan::Mode;

double compute_s(const Mode& m) {
  return 1e-9 * static_cast<double>(m.f + m.b);
}

double transfer_s(const Mode& m) {
  int64_t sum = m.hf + m.hb + m.of + m.ob + m.u + m.gf + m.gb + m.rb;
  return 1e-9 * static_cast<double>(sum);
}

double all_s(const Mode& m) { return compute_s(m) + transfer_s(m); }

std::string milliseconds(double seconds) {
  return fmt::format("{:.3g} ms", 1e3 * seconds);
}

class Reporter {
 public:
  Reporter(const Planner& planner, const plan::ProgramRows& rows,
           const PlanChoice& choice)
      : planner_(planner), rows_(rows), choice_(choice) {}

  std::vector<SegmentReport> run() const {
    std::vector<SegmentReport> all;
    for (size_t i = 0; i < rows_.decisions.size(); ++i) {
      all.push_back(segment(i));
    }
    return all;
  }

 private:
  const Mode* find(size_t segment, const Decision& decision) const {
    const std::vector<Decision>& known = rows_.decisions[segment];
    auto at = std::ranges::find(known, decision);
    if (at == known.end()) return nullptr;
    return &rows_.instance.segments[segment]
                .modes[static_cast<size_t>(at - known.begin())];
  }

  SegmentReport segment(size_t i) const {
    SegmentReport report{.name = planner_.segments()[i],
                         .decision = choice_.plan.segments[i]};
    const Mode* mode = find(i, report.decision);
    const Mode* kept = find(i, {});
    if (!mode) return report;
    report.device_bytes = mode->res + mode->keep;
    report.host_bytes = mode->host;
    report.compute_s = compute_s(*mode);
    report.transfer_s = transfer_s(*mode);
    if (kept) {
      report.freed_bytes = kept->res + kept->keep - report.device_bytes;
      report.more_s = all_s(*mode) - all_s(*kept);
    }
    report.why = why(i, report);
    return report;
  }

  std::string why(size_t i, const SegmentReport& report) const {
    if (planner_.given().segments[i]) return "given by hand";
    if (report.decision != Decision{}) return why_saved(i, report);
    std::optional<size_t> other = cheapest(i);
    if (choice_.solution && other) {
      const Mode& mode = rows_.instance.segments[i].modes[*other];
      const Mode* kept = find(i, {});
      return fmt::format("{} would free {} for {}",
                         short_text(rows_.decisions[i][*other]),
                         bytes_text(freed(*kept, mode)),
                         milliseconds(all_s(mode) - all_s(*kept)));
    }
    return choice_.solution ? "nothing would be freed" : "all fits";
  }

  std::string why_saved(size_t i, const SegmentReport& report) const {
    std::string text =
        fmt::format("frees {} for {}", bytes_text(report.freed_bytes),
                    milliseconds(std::max(0.0, report.more_s)));
    double hidden = report.more_s - slower_s(i, report.decision);
    if (report.transfer_s > 0 && hidden > 0) text += ", beside other work";
    return text;
  }

  // What the compute stream takes more.
  double slower_s(size_t i, const Decision& decision) const {
    const Mode *mode = find(i, decision), *kept = find(i, {});
    return mode && kept ? compute_s(*mode) - compute_s(*kept) : 0;
  }

  static int64_t freed(const Mode& kept, const Mode& mode) {
    return kept.res + kept.keep - mode.res - mode.keep;
  }

  // The decision that would free something for the least time.
  std::optional<size_t> cheapest(size_t i) const {
    const Mode* kept = find(i, {});
    std::optional<size_t> best;
    const std::vector<Mode>& modes = rows_.instance.segments[i].modes;
    for (size_t m = 0; kept && m < modes.size(); ++m) {
      if (freed(*kept, modes[m]) <= 0) continue;
      if (!best || all_s(modes[m]) < all_s(modes[*best])) best = m;
    }
    return best;
  }

  const Planner& planner_;
  const plan::ProgramRows& rows_;
  const PlanChoice& choice_;
};

// Limits between what the smallest plan takes and what keeping all takes.
std::vector<FrontPoint> front_of(const Planner& planner, int64_t least,
                                 int64_t most, int points) {
  constexpr int kFewTrials = 12;
  std::vector<FrontPoint> front;
  for (int i = 0; i < points && points > 1; ++i) {
    int64_t limit = least + (most - least) * i / (points - 1);
    ChoiceOptions options = planner.choice_options();
    options.limit_bytes = limit;
    options.most_trials = std::min(options.most_trials, kFewTrials);
    PlanChoice choice = planner.choose(options);
    front.push_back({limit, choice.fits, choice.trial, choice.plan});
  }
  return front;
}

// More memory never takes more time.
void smooth(std::vector<FrontPoint>& front) {
  for (size_t i = 1; i < front.size(); ++i) {
    bool is_worse = front[i - 1].fits &&
                    front[i].trial.seconds > front[i - 1].trial.seconds;
    if (!is_worse) continue;
    front[i].trial = front[i - 1].trial;
    front[i].plan = front[i - 1].plan;
  }
}

}  // namespace

PlanReport report_plan(const Planner& planner, const ReportOptions& options) {
  PlanReport report{.choice = planner.choose(planner.choice_options())};
  ChoiceOptions all = planner.choice_options(), none = all;
  all.limit_bytes = all.host_limit_bytes = kNoLimit;
  none.limit_bytes = 0;
  report.kept = planner.choose(all).trial;
  PlanChoice least = planner.choose(none);
  report.least_bytes = std::min(least.trial.bytes, report.choice.trial.bytes);
  plan::ProgramRows rows = planner.rows(report.choice.plan.order);
  report.segments = Reporter(planner, rows, report.choice).run();
  report.front = front_of(planner, report.least_bytes, report.kept.bytes,
                          options.front_points);
  smooth(report.front);
  return report;
}

std::string plan_yaml(const plan::Plan& plan,
                      const std::vector<std::string>& segments) {
  std::string text = fmt::format("depth: {}\n", plan.depth);
  if (plan.order != plan::Order::kMicroBatches) {
    text += fmt::format("order: {}\n", order_name(plan.order));
  }
  if (plan.buffer_bytes != kNoLimit) {
    text += fmt::format("buffer: {}\n", plan.buffer_bytes);
  }
  text += "segments:\n";
  for (size_t i = 0; i < segments.size(); ++i) {
    text += fmt::format("  \"{}\": {}\n", segments[i],
                        decision_text(plan.segments[i]));
  }
  return text;
}

}  // namespace braid::compile
