#include "braid/train/run/threads.h"

#include <algorithm>

#include "braid/base/bytes.h"
#include "braid/base/error.h"

namespace braid::train {

int thread_count(int64_t wanted, std::string_view where) {
  int64_t cores = machine_cores();
  int64_t most = std::max<int64_t>(64, 4 * cores);
  if (wanted > most) {
    fail_usage(
        "[{}] expected at most {} threads on this machine, got {}\n"
        "HINT: it has {} cores; threads 0 takes one for each",
        where, most, wanted, cores);
  }
  return static_cast<int>(wanted > 0 ? wanted : cores);
}

}  // namespace braid::train
