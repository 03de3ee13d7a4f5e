// Evaluation within a run: all members that are due, on data that they share.
#include "braid/train/metrics.h"
#include "braid/train/run.h"

namespace braid::train {

// Gives those with the best values so far.
Run::Members Run::evaluate() {
  std::map<std::pair<const data::Dataset*, int64_t>, Members> due;
  for (MemberRun* member : with_state(MemberState::kTraining)) {
    if (!member->is_eval_due()) continue;
    const Job& job = member->job();
    due[{job.data().eval.get(), job.eval_rows()}].push_back(member);
  }
  Members best, stopped;
  for (const auto& [data, members] : due) {
    io::TraceSpan span(trace_.get(), "eval", "eval", "evaluation");
    bool has_averages = members[0]->job().config().ema.has_value();
    std::vector<MemberRun::Values> raw(members.size());
    if (has_averages) raw = evaluate_on(members);
    if (has_averages) array_->swap_averages();
    auto values = evaluate_on(members);
    if (has_averages) array_->swap_averages();
    for (size_t i = 0; i < members.size(); ++i) {
      MemberRun& member = *members[i];
      if (member.observe(values[i], raw[i])) best.push_back(&member);
      if (member.is_stopped_early()) stopped.push_back(&member);
      report_state(member);
      if (!options_.listener || !is_alone_) continue;
      options_.listener->on_eval(member.record().step, member.evaluation(),
                                 member.record().raw_evaluation);
    }
  }
  if (!due.empty() && !is_alone_ && options_.listener) {
    options_.listener->on_array(*report_);
  }
  for (MemberRun* member : stopped) say_stopped(*member);
  return best;
}

// Where early stopping watches a metric of its own, the best is another.
void Run::say_stopped(MemberRun& member) {
  const Best &mark = member.record().early_stop, &best = member.record().best;
  std::string text =
      fmt::format("stopped early: {} was best at step {}", mark.metric,
                  mark.metric == best.metric ? best.step : mark.step);
  if (mark.metric != best.metric && best.value) {
    text += fmt::format(", {} at step {}", best.metric, best.step);
  }
  say(member, LogLevel::kInfo, text);
}

// Values of the present weights.
std::vector<MemberRun::Values> Run::evaluate_on(const Members& members) {
  const Job& job = members[0]->job();
  auto& loader = eval_loaders_[{job.data().eval.get(), job.eval_rows()}];
  if (!loader) {
    loader = std::make_unique<data::Loader>(
        job.data().eval,
        data::LoaderOptions{
            .batch_size = job.eval_rows(), .shuffle = false, .repeat = false});
  }
  std::vector<MetricSums> sums;
  for (MemberRun* member : members) {
    sums.emplace_back(member->job().model().metrics());
  }
  loader->seek({});
  while (const data::Batch* batch = loader->next()) {
    const runtime::Executor& executor = array_->evaluate(*batch);
    for (size_t i = 0; i < members.size(); ++i) {
      auto place = static_cast<size_t>(array_->place(members[i]->member));
      sums[i].add(executor, batch->rows, place);
    }
  }
  std::vector<MemberRun::Values> values;
  for (const MetricSums& sum : sums) values.push_back(sum.values());
  return values;
}

}  // namespace braid::train
