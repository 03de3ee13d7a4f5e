#include "braid/train/list_run.h"

#include "braid/train/grouping.h"
#include "braid/train/job_signature.h"

namespace braid::train {

ListRun::ListRun(const runtime::Machine& machine, std::filesystem::path out,
                 ListRunOptions options)
    : out_(std::move(out)),
      options_(std::move(options)),
      lock_(out_),
      folder_(read_job_folder(out_)),
      failures_(folder_.jobs.size()) {
  io::remove_temporary_files(out_);
  for (const NamedJob& job : folder_.jobs) {
    jobs_.push_back(std::make_unique<Job>(machine, job.config,
                                          JobHooks{.datasets = &datasets_}));
    report_.members.push_back({.name = job.name,
                               .steps = jobs_.back()->num_steps(),
                               .epochs = jobs_.back()->num_epochs()});
  }
}

Ending ListRun::run() {
  for (size_t i = 0; i < folder_.arrays.size(); ++i) {
    Ending ending = run_array(i);
    if (ending == Ending::kInterrupted) return ending;
  }
  return Ending::kDone;
}

Ending ListRun::run_array(size_t number) {
  const std::vector<size_t>& numbers = folder_.arrays[number];
  std::vector<RunMember> members;
  for (size_t i : numbers) {
    const std::string& name = folder_.jobs[i].name;
    members.push_back(
        {.name = name, .job = jobs_[i].get(), .out = out_ / name, .number = i});
  }
  auto preparing = options_.preparing ? options_.preparing() : nullptr;
  Run run(members, {.out = array_path(out_, number),
                    .stop = options_.stop,
                    .listener = options_.listener,
                    .report = &report_,
                    .profile = folder_.profile});
  preparing.reset();
  Ending ending = run.is_finished() ? Ending::kDone : run.run();
  note(run, numbers);
  return ending;
}

void ListRun::note(const Run& run, const std::vector<size_t>& numbers) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    failures_[numbers[i]] = run.members()[i]->failure;
  }
  if (!options_.profile || !run.step_s()) return;
  const Job& first = run.members()[0]->job();
  ArraySize size{.members = static_cast<int64_t>(numbers.size()),
                 .shared_data = run.shares_batches()};
  options_.profile->set(step_key(job_signature(first), size), *run.step_s());
}

}  // namespace braid::train
