// -q, -v and --log-level: how much a verb says while it works.
#pragma once

#include <string>

#include "braid/train/run/listener.h"

namespace CLI {
class App;
}

namespace braid::cli {

struct LogOptions {
  bool quiet = false;  // only errors and the last line
  bool verbose = false;
  std::string level = "info";

  // Messages up to this level are shown.
  train::LogLevel shown() const;
};

// Adds the options to a verb; borrows `options`. Contradictions are errors of
// the command line.
void declare_log_options(CLI::App& app, LogOptions& options);

}  // namespace braid::cli
