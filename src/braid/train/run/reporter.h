// Reporter: tells logs and the listener what a run does. A run of one job
// reports its steps; one of several reports how all of them stand.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "braid/train/run/run_context.h"

namespace braid::train {

// One thread. Borrows the run and the listener, which may be null.
class Reporter {
 public:
  Reporter(const RunContext& run, Listener* listener)
      : run_(run), listener_(listener) {}
  virtual ~Reporter() = default;
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // A line of every log, and one for the listener.
  void say(LogLevel level, const std::string& text) const;
  // Of one member, which is named where there are several.
  void say(MemberRun& member, LogLevel level, const std::string& text) const;
  // What several members have in common is said once; empty: nothing.
  void say_each(LogLevel level,
                const std::function<std::vector<std::string>(const MemberRun&)>&
                    words) const;
  // Of those whose folders tell of a run but hold nothing of it.
  void say_begins_anew(const MemberList& anew) const;
  // Once, when the listener cannot show anything any more: logs tell why.
  void note_trouble();

  // After a step of all that train.
  virtual void on_step() = 0;
  // After what changes more rarely than steps.
  virtual void on_state(MemberRun&) {}
  virtual void on_evaluation(const MemberRun&) {}
  // All evaluations of a step are done, or the run is about to end.
  virtual void on_table() {}
  // A member cannot go on. Throws where it is the only one.
  virtual void on_failure(MemberRun& member, const std::string& text,
                          std::string_view hint) = 0;

 protected:
  const RunContext& run_;
  Listener* listener_;

 private:
  bool is_trouble_noted_ = false;
};

std::unique_ptr<Reporter> report_job(const RunContext& run, Listener* listener);

// `report` has a row for each member, by its number, and maybe others;
// borrowed.
std::unique_ptr<Reporter> report_list(const RunContext& run, Listener* listener,
                                      ArrayReport& report);

}  // namespace braid::train
