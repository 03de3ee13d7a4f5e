// Evaluation within a run: all members that are due, on data that they share.
#include "braid/train/run/metrics.h"
#include "braid/train/run/run.h"
#include "braid/train/run/run_words.h"

namespace braid::train {
namespace {

// The averaged weights are in use while it lives, also when reading fails:
// what is saved then are those that train.
class Averages {
 public:
  explicit Averages(Array& array) : array_(array) { array_.swap_averages(); }
  ~Averages() {
    try {
      array_.swap_averages();
    } catch (const std::exception&) {
      // The device is gone, and has said so already.
    }
  }
  Averages(const Averages&) = delete;
  Averages& operator=(const Averages&) = delete;

 private:
  Array& array_;
};

}  // namespace

// Gives those with the best values so far.
MemberList Run::evaluate() {
  std::map<std::pair<const data::Dataset*, int64_t>, MemberList> due;
  for (MemberRun* member : run_.with_state(MemberState::kTraining)) {
    if (!member->is_eval_due()) continue;
    const Job& job = member->job();
    due[{job.data().eval.get(), job.eval_rows()}].push_back(member);
  }
  MemberList best, stopped;
  for (const auto& [data, members] : due) {
    io::TraceSpan span(run_.trace.get(), "eval", "eval", "evaluation");
    bool has_averages = members[0]->job().config().ema.has_value();
    std::vector<MemberRun::Values> raw(members.size());
    if (has_averages) {
      std::vector<MetricSums> sums = evaluate_on(members);
      for (size_t i = 0; i < sums.size(); ++i) raw[i] = sums[i].values();
    }
    std::optional<Averages> averages;
    if (has_averages) averages.emplace(*run_.array);
    std::vector<MetricSums> sums = evaluate_on(members);
    averages.reset();
    for (size_t i = 0; i < members.size(); ++i) {
      MemberRun& member = *members[i];
      if (member.observe(sums[i].values(), raw[i])) best.push_back(&member);
      const JobModel& model = member.job().model();
      if (member.files() && !model.tables().empty()) {
        member.files()->add_tables(member.record().step, model.tables(),
                                   *sums[i].counts(), model.class_names());
      }
      if (member.is_stopped_early()) stopped.push_back(&member);
      reporter_->on_state(member);
      member.log(result_words(member.record()));
      reporter_->on_evaluation(member);
    }
  }
  if (!due.empty()) reporter_->on_table();
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
  reporter_->say(member, LogLevel::kInfo, text);
}

// Sums of the present weights, over all data.
std::vector<MetricSums> Run::evaluate_on(const MemberList& members) {
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
    const JobModel& model = member->job().model();
    sums.emplace_back(model.metrics(), model.num_classes(), model.tables());
  }
  auto next = [&] {
    reads_data_ = true;
    const data::Batch* batch = loader->next();
    reads_data_ = false;
    return batch;
  };
  loader->seek({});
  while (const data::Batch* batch = next()) {
    EvalOutputs outputs(run_.array->evaluate(*batch));
    for (size_t i = 0; i < members.size(); ++i) {
      auto lane = static_cast<size_t>(run_.array->lane(members[i]->member));
      sums[i].add(outputs, batch->rows, lane);
    }
  }
  return sums;
}

}  // namespace braid::train
