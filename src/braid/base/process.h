// What the system knows about this process.
#pragma once

#include <cstdint>

namespace braid {

// The most memory that it has held at once: code, libraries, files that are
// read, and all that devices on the host have. A limit of a device bounds the
// device's account alone, which is a part of this on a CPU.
int64_t process_peak_bytes();

// What it holds now; 0 where the system does not tell.
int64_t process_bytes();

}  // namespace braid
