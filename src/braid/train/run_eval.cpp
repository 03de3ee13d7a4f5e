// Evaluation within a run: all members that are due, on data that they share.
#include "braid/train/metrics.h"
#include "braid/train/run.h"
#include "braid/train/run_words.h"

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
      report_state(member);
      member.log(eval_words(member.record().step, member.evaluation()));
      if (options_.listener && is_alone_) {
        options_.listener->on_eval(member.record().step, member.evaluation());
      }
      if (!member.is_stopped_early()) continue;
      say(member, LogLevel::kInfo,
          fmt::format("stopped early: {} was best at step {}",
                      member.job().config().eval.early_stop.metric,
                      member.record().early_stop.step));
    }
  }
  if (!due.empty() && !is_alone_ && options_.listener) {
    options_.listener->on_array(*report_);
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
  auto next = [&] {
    reads_data_ = true;
    const data::Batch* batch = loader->next();
    reads_data_ = false;
    return batch;
  };
  Averages averages(*array_);
  loader->seek({});
  while (const data::Batch* batch = next()) {
    const runtime::Executor& executor = array_->evaluate(*batch);
    for (size_t i = 0; i < members.size(); ++i) {
      auto place = static_cast<size_t>(array_->place(members[i]->member));
      sums[i].add(executor, batch->rows, place);
    }
  }
  std::vector<std::map<std::string, double>> values;
  for (const MetricSums& sum : sums) values.push_back(sum.values());
  return values;
}

}  // namespace braid::train
