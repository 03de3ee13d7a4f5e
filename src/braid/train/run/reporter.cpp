#include "braid/train/run/reporter.h"

#include <algorithm>
#include <map>

#include "braid/base/error.h"

namespace braid::train {
namespace {

class JobReporter : public Reporter {
 public:
  using Reporter::Reporter;

  void on_step() override {
    if (!listener_) return;
    for (const MemberRun* member : run_.with_state(MemberState::kTraining)) {
      listener_->on_step(step_report(*member));
    }
  }

  void on_evaluation(const MemberRun& member) override {
    if (!listener_) return;
    listener_->on_eval(member.record().step, member.evaluation(),
                       member.record().raw_evaluation);
  }

  [[noreturn]] void on_failure(MemberRun&, const std::string& text,
                               std::string_view hint) override {
    fail_world("[train] {}\nHINT: {}", text, hint);
  }

 private:
  StepReport step_report(const MemberRun& member) const {
    const JobModel& model = member.job().model();
    StepReport report{.step = member.record().step,
                      .steps = member.job().num_steps(),
                      .epoch = member.epoch(),
                      .epochs = member.job().num_epochs(),
                      .rows = member.rows,
                      .memory_bytes = run_.array->used_bytes()};
    for (size_t i = 0; i < model.phases().size(); ++i) {
      report.networks.push_back(
          {model.networks()[model.phases()[i].network].name,
           member.shown_loss(i), run_.array->rate(i, member.member)});
    }
    return report;
  }
};

class ListReporter : public Reporter {
 public:
  ListReporter(const RunContext& run, Listener* listener, ArrayReport& report)
      : Reporter(run, listener), report_(report) {}

  void on_step() override {
    if (!listener_) return;
    for (const MemberRun* member : run_.with_state(MemberState::kTraining)) {
      MemberReport& row = report_.members[member->number];
      row.step = member->record().step;
      row.epoch = member->epoch();
      row.loss = member->shown_loss(0);
      row.lr = run_.array->rate(0, member->member);
      row.time_s = member->elapsed();
      ++report_.model_steps;
      report_.samples += member->rows;
    }
    listener_->on_array(report_);
  }

  void on_state(MemberRun& member) override {
    MemberReport& row = report_.members[member.number];
    row.name = member.name();
    row.state = member.state;
    row.step = member.record().step;
    row.steps = member.job().num_steps();
    row.epoch = member.epoch();
    row.epochs = member.job().num_epochs();
    row.evaluation = member.evaluation();
    row.raw_evaluation = member.record().raw_evaluation;
    row.last_eval = member.record().last_eval;
    row.best = member.best();
    row.time_s = std::max(row.time_s, member.record().time_s);
    row.failure = member.failure;
    if (run_.array) report_.memory_bytes = run_.array->used_bytes();
    report_.limit_bytes = member.job().config().memory_limit.value_or(0);
  }

  void on_table() override {
    if (listener_) listener_->on_array(report_);
  }

  // The others go on without it.
  void on_failure(MemberRun& member, const std::string& text,
                  std::string_view) override {
    member.state = MemberState::kFailed;
    member.failure = text;
    on_state(member);
    say(member, LogLevel::kError, text);
  }

 private:
  ArrayReport& report_;
};

}  // namespace

void Reporter::say(LogLevel level, const std::string& text) const {
  for (const auto& member : run_.members) member->log(text);
  if (listener_) listener_->on_message(level, text);
}

void Reporter::say(MemberRun& member, LogLevel level,
                   const std::string& text) const {
  member.log(text);
  if (!listener_) return;
  const std::string& name = member.name();
  listener_->on_message(level, name.empty() ? text : name + ": " + text);
}

void Reporter::say_each(
    LogLevel level,
    const std::function<std::vector<std::string>(const MemberRun&)>& words)
    const {
  std::map<std::string, MemberList> speakers;
  for (const auto& member : run_.members) {
    for (const std::string& text : words(*member)) {
      speakers[text].push_back(member.get());
    }
  }
  for (const auto& [text, members] : speakers) {
    for (MemberRun* member : members) member->log(text);
    if (!listener_) continue;
    std::string who;
    if (members.size() < run_.members.size()) {
      who = members[0]->name();
      if (members.size() > 1) {
        who += fmt::format(" and {} more", members.size() - 1);
      }
      who += ": ";
    }
    listener_->on_message(level, who + text);
  }
}

void Reporter::say_begins_anew(const MemberList& anew) const {
  constexpr const char* kAlone = "no checkpoint was saved: the run begins anew";
  if (anew.empty()) return;
  for (MemberRun* member : anew) member->log(kAlone);
  if (!listener_) return;
  bool is_one = anew.size() == 1;
  std::string who =
      is_one ? anew[0]->name() : fmt::format("{} jobs", anew.size());
  listener_->on_message(
      LogLevel::kInfo,
      who.empty() ? kAlone
                  : fmt::format("no checkpoint was saved of {}: {}", who,
                                is_one ? "it begins anew" : "they begin anew"));
}

void Reporter::note_trouble() {
  if (!listener_ || is_trouble_noted_) return;
  std::string trouble = listener_->trouble();
  if (trouble.empty()) return;
  is_trouble_noted_ = true;
  for (const auto& member : run_.members) member->log(trouble);
}

std::unique_ptr<Reporter> report_job(const RunContext& run,
                                     Listener* listener) {
  return std::make_unique<JobReporter>(run, listener);
}

std::unique_ptr<Reporter> report_list(const RunContext& run, Listener* listener,
                                      ArrayReport& report) {
  return std::make_unique<ListReporter>(run, listener, report);
}

}  // namespace braid::train
