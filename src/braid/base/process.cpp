#include "braid/base/process.h"

#include <sys/resource.h>

namespace braid {

int64_t process_peak_bytes() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;  // Linux counts in KiB
}

}  // namespace braid
