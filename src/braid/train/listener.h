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
    double loss = 0, lr = 0;
  };
  std::vector<Network> networks = {};
  int64_t memory_bytes = 0;  // that the device's account holds
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
  virtual void on_eval(int64_t /*step*/, const io::Scalars&) {}
  // One line for a person; all of them are in log.txt too.
  virtual void on_message(LogLevel, std::string_view) {}
};

}  // namespace braid::train
