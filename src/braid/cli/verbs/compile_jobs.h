// What training compiles, without the training: for `--dump-after`, and for
// `braid inspect` of a job.
#pragma once

#include "braid/compile/pipeline.h"
#include "braid/runtime/machine.h"
#include "braid/train/job/job_list.h"
#include "braid/train/run/run.h"

namespace braid::cli {

// Makes the runs of these jobs as training from the beginning makes them, up to
// the first step, and writes no file. `made` gets each when it is ready.
void compile_jobs(const runtime::Machine& machine, const train::JobList& list,
                  const plan::Profile& profile,
                  const compile::PassObserver& observer,
                  const std::function<void(train::Run&)>& made = {});

// Prints what a pass leaves of every program. Throws when no program has it.
void print_after(const runtime::Machine& machine, const train::JobList& list,
                 const plan::Profile& profile, const std::string& pass);

// Throws for a pass that no step has; `verb` begins the error.
void check_pass_name(const std::string& verb, const std::string& pass);

}  // namespace braid::cli
