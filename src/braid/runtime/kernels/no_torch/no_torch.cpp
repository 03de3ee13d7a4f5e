// What takes the place of libtorch's backends where there is none: no kernels,
// and calls with one thread. Layers above can then be built and tested alone.
#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

class LibtorchFlags {};

KernelTable cpu_kernels() { return {}; }

int call_threads() { return 1; }

void set_call_threads(int) {}

CallSettings::CallSettings() : outer_(nullptr), threads_(call_threads()) {}

CallSettings::~CallSettings() = default;

void CallSettings::before_blas() {}

void CallSettings::before_libtorch(bool) {}

struct ShortWaits::Team {};

ShortWaits::ShortWaits() = default;

ShortWaits::~ShortWaits() = default;

}  // namespace braid::runtime
