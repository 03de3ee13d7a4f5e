// ResultsKeeper: keeps results.json and results.csv of a list current while
// its jobs train.
#pragma once

#include <chrono>
#include <filesystem>
#include <vector>

#include "braid/train/run/results.h"

namespace braid::train {

// Hears all that a list reports, and passes it on. Files are replaced as a
// whole: when a job changes its state, and else about once a second, or more
// rarely where there are so many jobs that it would take time from them. That
// they cannot be written is said once and ends nothing. One thread. Borrows the
// listener, which may be null.
class ResultsKeeper : public Listener {
 public:
  // `before` is how the jobs stood, in the order of the list.
  ResultsKeeper(std::filesystem::path out, Results before, Listener* listener);

  // From now on the report tells of these jobs.
  void begin(const std::vector<size_t>& numbers, const ArrayReport& report);
  // They will not go on here: an error, or somebody stopped the process.
  void fail(const std::vector<size_t>& numbers, const ArrayReport& report,
            const std::string& error);
  void stop(const ArrayReport& report);
  // Writes what the report says by now.
  void finish(const ArrayReport& report);

  void on_step(const StepReport& report) override;
  void on_array(const ArrayReport& report) override;
  void on_eval(int64_t step, const io::Scalars& values,
               const io::Scalars& raw) override;
  void on_message(LogLevel level, std::string_view text) override;
  std::string trouble() const override;

 private:
  using Clock = std::chrono::steady_clock;

  bool has_new_state(const ArrayReport& report) const;
  void take(const ArrayReport& report);
  void write();

  std::filesystem::path out_;
  Results results_;
  Listener* listener_;
  std::vector<bool> is_live_;  // by job: the report tells of it
  Clock::time_point next_ = {}, soonest_ = {};
  bool has_failed_ = false;
};

// Replaces both files of a folder. They can be made anew from the runs, so that
// nobody waits for the disk.
void replace_results(const std::filesystem::path& out, const Results& results);

}  // namespace braid::train
