#include "braid/cli/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "braid/cli/verbs/verb.h"

namespace braid::cli {
namespace {

// A signal handler can reach nothing else.
volatile sig_atomic_t stop_flag = 0;
std::atomic<const std::string*> last_words = nullptr;

static_assert(std::atomic<const std::string*>::is_always_lock_free);

// Whichever comes next ends the process.
void handle(int) {
  if (const std::string* text = last_words) {
    bool told = ::write(STDERR_FILENO, text->data(), text->size()) >= 0;
    static_cast<void>(told);
    ::_exit(kInterrupted);
  }
  stop_flag = 1;
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGHUP, SIG_IGN);
}

bool is_ignored(int signal) {
  struct sigaction action = {};
  return ::sigaction(signal, nullptr, &action) == 0 &&
         action.sa_handler == SIG_IGN;
}

}  // namespace

void watch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (signal == SIGHUP && is_ignored(signal)) continue;
    ::sigaction(signal, &action, nullptr);
  }
}

bool stop_requested() { return stop_flag != 0; }

StopAtOnce::StopAtOnce(std::string message) : message_(std::move(message)) {
  last_words = &message_;
}

StopAtOnce::~StopAtOnce() { last_words = nullptr; }

}  // namespace braid::cli
