// Shares work out among the threads of the call.
#pragma once

#include <ATen/Parallel.h>

namespace braid::runtime {

// part(from, to) for parts of [0, count), of at least `grain` when there are
// several. Work for one thread is called at once: asking libtorch first takes
// as long as a small kernel. Blocking.
template <class F>
void parallel_for(int64_t count, int64_t grain, const F& part) {
  if (count > grain) {
    at::parallel_for(0, count, grain, part);
  } else if (count > 0) {
    part(int64_t{0}, count);
  }
}

}  // namespace braid::runtime
