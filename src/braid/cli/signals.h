// Signals that ask a run to stop.
#pragma once

namespace braid::cli {

// From here on SIGINT and SIGTERM are remembered instead of ending the
// process; a second one ends it.
void watch_stop_signals();

bool stop_requested();

}  // namespace braid::cli
