// Listener: who wants to know what a run does while it goes on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "braid/io/run/scalars.h"

namespace braid::train {

// After each step.
struct StepReport {
  int64_t step = 0, steps = 0;
  double epoch = 0;                   // epochs done, with a fraction
  std::optional<double> epochs = {};  // in all, when the job counts them
  int64_t rows = 0;                   // of the batch
  // Of each network that learns; a single one has no name.
  struct Network {
    std::string name;
    double loss = 0;  // the mean since the last line of metrics
    double lr = 0;
  };
  std::vector<Network> networks = {};
  int64_t memory_bytes = 0;  // that the device's account holds
};

// How a job of a list stands.
enum class MemberState {
  kWaiting,  // for an array before it, or for a lane in one
  kTraining,
  kPaused,  // until somebody promotes it
  kDone,
  kStoppedEarly,  // by its own rule
  kStopped,       // by whoever controls the run
  kFailed,        // its loss is not finite
};

// Whether that is how it will stay.
inline bool has_ended(MemberState state) {
  return state != MemberState::kWaiting && state != MemberState::kTraining &&
         state != MemberState::kPaused;
}

// The best evaluation so far, by what the job goes by.
struct BestReport {
  std::string metric = {};  // empty: nothing is evaluated
  bool higher_is_better = false;
  std::optional<double> value = {};  // absent: none was finite yet
  int64_t step = 0;
};

// One job of a list.
struct MemberReport {
  std::string name = {};
  MemberState state = MemberState::kWaiting;
  int64_t step = 0, steps = 0;
  double epoch = 0;
  std::optional<double> epochs = {};
  // The mean since its last line of metrics; the rate of its last step.
  std::optional<double> loss = {}, lr = {};
  io::Scalars evaluation = {};  // the last one; empty: none yet
  // Where that is of averaged weights: of the weights themselves.
  io::Scalars raw_evaluation = {};
  BestReport best = {};
  int64_t last_eval = 0;     // step of the last evaluation
  double time_s = 0;         // of its training so far
  std::string failure = {};  // why it failed
  bool is_error = false;     // that was no number of its own
  std::string device = {};   // where it trains, of several
};

// A device that several jobs share; shares are of the time so far.
struct DeviceReport {
  std::string name = {};
  std::vector<std::string> jobs = {};  // that are there now
  double busy = 0;                     // it computes
  double copies = 0;                   // all that are there wait for copies
  int64_t memory_bytes = 0;
  int64_t limit_bytes = 0;  // 0: none
  bool is_left_out = false;
};

// After each step of an array: how all jobs of a list stand. The loop keeps
// one and changes it in place, so that a report costs no copies.
struct ArrayReport {
  std::vector<MemberReport> members = {};  // in the order of the list
  // By this process in all: steps of models, and rows of their batches.
  int64_t model_steps = 0, samples = 0;
  int64_t memory_bytes = 0;                // that the device's account holds
  int64_t limit_bytes = 0;                 // 0: none
  std::vector<DeviceReport> devices = {};  // where jobs share several
};

// How much a message matters, from most to least.
enum class LogLevel {
  kError,
  kWarning,  // something is not as it should be; the run goes on
  kInfo,
  kDebug,  // what is being prepared, and when
};

// Called by the thread that trains; what it throws ends the run.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void on_step(const StepReport&) {}
  // The report is lent for the call.
  virtual void on_array(const ArrayReport&) {}
  // With averaged weights the values are theirs, and `raw` are those of the
  // weights themselves; else it is empty.
  virtual void on_eval(int64_t /*step*/, const io::Scalars& /*values*/,
                       const io::Scalars& /*raw*/) {}
  // One line for a person; all of them are in log.txt too.
  virtual void on_message(LogLevel, std::string_view) {}
  // What keeps it from showing anything, once that is so; empty before. It is
  // asked after each step, for log.txt.
  virtual std::string trouble() const { return ""; }
};

}  // namespace braid::train
