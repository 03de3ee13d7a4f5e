#include "braid/cli/signals.h"

#include <signal.h>

namespace braid::cli {
namespace {

// A signal handler can reach nothing else.
volatile sig_atomic_t stop_flag = 0;

// Whichever comes next ends the process.
void remember(int) {
  stop_flag = 1;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

}  // namespace

void watch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool stop_requested() { return stop_flag != 0; }

}  // namespace braid::cli
