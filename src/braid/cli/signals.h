// Signals that ask a run to stop: SIGINT, SIGTERM and SIGHUP.
#pragma once

#include <string>

namespace braid::cli {

// From here on such a signal is remembered instead of ending the process. A
// second SIGINT or SIGTERM ends it. SIGHUP stays ignored where it was
// (nohup), and after the first signal: terminals send it more than once.
void watch_stop_signals();

bool stop_requested();

// While it lives, a stop signal ends the process at once with the exit code of
// an interruption: for the time before a run has anything to save, which may
// be long when a model is large. One at a time.
class StopAtOnce {
 public:
  // `message` is written to stderr then.
  explicit StopAtOnce(std::string message);
  ~StopAtOnce();
  StopAtOnce(const StopAtOnce&) = delete;
  StopAtOnce& operator=(const StopAtOnce&) = delete;

 private:
  std::string message_;
};

}  // namespace braid::cli
