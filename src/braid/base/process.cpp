#include "braid/base/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace braid {

int64_t process_peak_bytes() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  // Linux counts in KiB, and may be a little behind.
  return std::max(int64_t{usage.ru_maxrss} * 1024, process_bytes());
}

// The second number of /proc/self/statm counts pages that are in memory.
int64_t process_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;
  if (!(file >> size >> resident)) return 0;
  return resident * ::sysconf(_SC_PAGESIZE);
}

}  // namespace braid
