#include "braid/cli/verbs/inspect_jobs.h"

#include "braid/base/bytes.h"
#include "braid/cli/job_arguments.h"
#include "braid/cli/output.h"
#include "braid/cli/profile_file.h"
#include "braid/cli/verbs/compile_jobs.h"
#include "braid/train/run/run_words.h"

namespace braid::cli {
namespace {

void print_program(const std::string& name, const plan::Program& program) {
  print("  {:<32} {:>7} {:>7} {:>7} {:>14}\n", name,
        program.graph.nodes().size(), program.units.size(),
        program.instructions.size(), bytes_text(program.arena_bytes));
}

// The programs of an array, or of a job alone.
void print_run(train::Run& run, const std::vector<std::string>& names) {
  runtime::Executables& programs = run.programs();
  size_t jobs = run.members().size();
  const train::Job& job = run.members()[0]->job();
  print("array  {} job{}, {} on {}\n", jobs, jobs == 1 ? "" : "s",
        bytes_text(programs.peak_bytes()), device_text(job.device()));
  print("{}\n", train::plan_words(programs.set()));
  print("  {:<32} {:>7} {:>7} {:>7} {:>14}\n", "", "nodes", "units", "instr.",
        "values");
  for (size_t i = 0; i < programs.size(); ++i) {
    print_program(names[i], programs.program(i));
  }
}

}  // namespace

void inspect_jobs(const InspectJobsOptions& o) {
  JobArguments arguments = split_arguments(o.words);
  train::JobList list =
      train::read_job_list(arguments.files, arguments.overrides);
  auto machine = runtime::this_machine();
  plan::Profile profile = read_profile(o.profile);
  if (!o.dump_after.empty()) {
    return print_after(*machine, list, profile, o.dump_after);
  }
  std::vector<std::string> names;
  auto observe = [&](const compile::PassResult& result) {
    if (result.pass == compile::kProgramPass) {
      names.push_back(result.spec.name);
    }
    if (o.verbose) print("{}\n", train::pass_words(result));
  };
  compile_jobs(*machine, list, profile, observe, [&](train::Run& run) {
    print_run(run, names);
    names.clear();
  });
}

}  // namespace braid::cli
