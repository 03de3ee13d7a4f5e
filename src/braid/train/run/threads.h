// How many threads an operation may use.
#pragma once

#include <cstdint>
#include <string_view>

namespace braid::train {

// The number wanted, or one per core when that is 0. Throws
// std::invalid_argument when it is many times what the machine has: such
// threads wait for each other, and each takes address space. `where` begins
// the error: "job".
int thread_count(int64_t wanted, std::string_view where);

}  // namespace braid::train
