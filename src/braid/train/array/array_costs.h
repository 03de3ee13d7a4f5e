// What arrays of a job's kind cost, known by compiling them: nothing is
// allocated and nothing trains.
#pragma once

#include "braid/train/array/grouping.h"
#include "braid/train/job/job.h"

namespace braid::train {

// Borrows the job and the backend, which outlive the result. Each size is
// compiled when it is first asked for, with everything kept on the device;
// scratch of kernels is measured only for sizes that fit without it. The limit
// is that of the backend and of what the device has.
ArrayCosts array_costs(const Job& job, runtime::Backend& backend);

}  // namespace braid::train
