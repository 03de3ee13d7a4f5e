#include "braid/runtime/kernels/loops/loops.h"

namespace braid::runtime {

// One function per folder of objects; see cmake/BraidLoops.cmake.
namespace plain {
Loops make_loops();
}
#ifdef BRAID_X86_LEVELS
namespace v3 {
Loops make_loops();
}
namespace v4 {
Loops make_loops();
}

namespace {

// All of x86-64-v3 that the compiler uses in loops.
bool has_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

}  // namespace
#endif

std::vector<Loops> all_loops() {
  std::vector<Loops> levels{plain::make_loops()};
#ifdef BRAID_X86_LEVELS
  __builtin_cpu_init();
  if (has_v3()) levels.push_back(v3::make_loops());
  if (has_v4()) levels.push_back(v4::make_loops());
#endif
  return levels;
}

}  // namespace braid::runtime
