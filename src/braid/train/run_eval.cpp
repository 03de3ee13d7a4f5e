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
  Members best;
  for (const auto& [data, members] : due) {
    io::TraceSpan span(trace_.get(), "eval", "eval", "evaluation");
    auto values = evaluate_on(members);
    for (size_t i = 0; i < members.size(); ++i) {
      MemberRun& member = *members[i];
      if (member.observe(values[i])) best.push_back(&member);
      if (options_.listener) {
        options_.listener->on_eval(member.record().step, member.evaluation());
      }
      if (!member.is_stopped_early()) continue;
      say(member, LogLevel::kInfo,
          fmt::format("stopped early: {} was best at step {}",
                      member.job().config().eval.early_stop.metric,
                      member.record().early_stop.step));
    }
  }
  return best;
}

std::vector<std::map<std::string, double>> Run::evaluate_on(
    const Members& members) {
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
  array_->swap_averages();
  loader->seek({});
  while (const data::Batch* batch = loader->next()) {
    const runtime::Executor& executor = array_->evaluate(*batch);
    for (size_t i = 0; i < members.size(); ++i) {
      auto place = static_cast<size_t>(array_->place(members[i]->member));
      sums[i].add(executor, batch->rows, place);
    }
  }
  array_->swap_averages();
  std::vector<std::map<std::string, double>> values;
  for (const MetricSums& sum : sums) values.push_back(sum.values());
  return values;
}

}  // namespace braid::train
