// What a run says about itself before its first step, in lines.
#pragma once

#include <string>

#include "braid/io/run/scalars.h"
#include "braid/runtime/executables.h"
#include "braid/train/array/array.h"
#include "braid/train/job/job.h"
#include "braid/train/run/run_record.h"

namespace braid::train {

// "data   20000 samples of glyphs, 2000 to evaluate"
std::string data_words(const Job& job);

// What a job would rather have otherwise, a line each: an evaluation without
// data, a batch larger than the data.
std::vector<std::string> job_warnings(const Job& job);

// "eval   best by accuracy (highest) · averaged weights, raw ones beside", one
// line at most.
std::vector<std::string> judge_words(const Job& job);

// "fields x f32 [1, 28, 28], y i64 below 36"
std::string field_words(const data::Dataset& data);

// "model  1,234 parameters · 3.91 MiB of 4.00 MiB on cpu"
std::string model_words(const Job& job, runtime::Executables& programs);

// "array  8 of 24 jobs at once, all on the same batches"
std::string array_words(const Array& array, size_t num_jobs);

// "12 segments: 9 keep, 3 recompute · prefetch 1", and with it
// "plan   12 segments: ...", for a plan that was chosen also " · about 6 % more
// time than without a limit".
std::string plan_text(const plan::Plan& plan);
std::string plan_words(const compile::ProgramSet& set);
// "plan   linear at head took 12 KiB of scratch, not 4 KiB: planned anew"
std::string review_words(const Array::PlanReview& review);
// Whether a limit made a plan leave out something.
bool saves_memory(const compile::ProgramSet& set);

// "memory 2.00 MiB for the values of a step, 1.91 MiB that stay"
// "pass   step of 64 rows: layout 0123456789abcdef, 0.5 ms": equal hashes mean
// equal results.
std::string pass_words(const compile::PassResult& result);

std::string memory_words(const runtime::Executables& programs);

// "eval   step 300  loss 0.12  accuracy 0.97", and where averaged weights were
// evaluated which these are, with the values of the others.
std::string result_words(const RunRecord& record);

// "peak   3.91 MiB on cpu, 151.2 MiB of the process"
std::string peak_words(runtime::Backend& backend);

// Elements of all parameters.
int64_t num_parameters(const runtime::State& state);

}  // namespace braid::train
