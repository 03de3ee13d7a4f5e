// What arrays of a job's kind cost, known by compiling them: nothing is
// allocated and nothing trains.
#pragma once

#include "braid/plan/simulator.h"
#include "braid/train/array/grouping.h"
#include "braid/train/job/job.h"

namespace braid::train {

// Rough speeds of the device and threads of a job, for arithmetic: only how
// sizes compare matters, and a profile corrects it.
plan::Rates rates_of(const Job& job);
plan::Rates cpu_rates(int threads);

// Borrows the job and the backend, which outlive the result. Each size is
// compiled when it is first asked for, with everything kept on the device;
// scratch of kernels is measured only for sizes that fit without it. The limit
// is that of the backend, and on a CPU also what the machine has.
ArrayCosts array_costs(const Job& job, runtime::Backend& backend,
                       const plan::Rates& rates);

}  // namespace braid::train
