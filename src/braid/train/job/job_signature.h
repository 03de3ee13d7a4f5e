// Signatures of jobs: which jobs can be members of one array.
//
// What is a number per member is not in them: rates and other values of the
// optimizer, clip norm, decay of averages, the schedule, dropout rates, seeds,
// how a model begins, steps and epochs, what is logged, kept and stopped by,
// and which data they are, as long as shapes agree.
#pragma once

#include <string>

#include "braid/train/job/job.h"

namespace braid::train {

// Equal for jobs that can be members of one array. Stable, so that its digest
// may enter files. Builds the graphs of the job; no thread but this one.
std::string job_signature(const Job& job);

// Equal for jobs that can be members of one array if their models have layers
// in common: the same without graphs.
std::string frame_signature(const Job& job);

// The same of what can be known without opening files: jobs for which it is
// equal have equal signatures, and opening one of them tells whether the
// others can be opened.
std::string config_signature(const JobConfig& config);

// Equal for jobs that read the same batches in the same order, if their
// signatures are equal: they share each batch.
std::string data_signature(const JobConfig& config);

}  // namespace braid::train
