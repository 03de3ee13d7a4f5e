#include "braid/cli/verbs/plan_devices.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/cli/display/display_words.h"
#include "braid/cli/display/gantt.h"
#include "braid/cli/display/sharing_words.h"
#include "braid/cli/display/table.h"
#include "braid/cli/display/terminal.h"
#include "braid/cli/job_arguments.h"
#include "braid/cli/output.h"
#include "braid/cli/profile_file.h"
#include "braid/cli/verbs/verb.h"
#include "braid/io/file/file.h"
#include "braid/train/array/array_plans.h"
#include "braid/train/job/job_list.h"
#include "braid/train/jobs/predicted_schedule.h"
#include "braid/train/run/dataset_cache.h"

namespace braid::cli {
namespace {

using Json = nlohmann::ordered_json;
using train::PredictedSchedule;
using train::WorkFacts;
using train::WorkPlan;

// Files have room.
int line_width() {
  constexpr int kFile = 100;
  return isatty(STDOUT_FILENO) ? terminal_width(stdout) : kFile;
}

// The jobs of a list, opened and grouped for the devices.
struct Opened {
  train::DatasetCache datasets = {};
  std::unique_ptr<train::ModelFiles> models = {};
  std::vector<std::unique_ptr<train::Job>> jobs = {};
  train::JobArrays arrays = {};
  std::vector<WorkFacts> facts = {};
};

WorkFacts facts_of(const std::vector<train::NamedJob>& jobs,
                   const std::vector<size_t>& numbers) {
  WorkFacts facts{.name = jobs[numbers[0]].name,
                  .priority = jobs[numbers[0]].config.priority};
  if (numbers.size() > 1) {
    facts.name += fmt::format(" and {} more", numbers.size() - 1);
  }
  for (size_t i : numbers) {
    const train::JobConfig& config = jobs[i].config;
    facts.priority = std::max(facts.priority, config.priority);
    double deadline = config.deadline.value_or(0);
    bool is_sooner =
        deadline > 0 && (facts.deadline_s == 0 || deadline < facts.deadline_s);
    if (is_sooner) facts.deadline_s = deadline;
  }
  return facts;
}

void open(const runtime::Machine& machine, const train::JobList& list,
          const train::ArrayPlans& plans, Opened& to) {
  to.models = std::make_unique<train::ModelFiles>(machine);
  for (const train::NamedJob& job : list.jobs) {
    to.jobs.push_back(std::make_unique<train::Job>(
        machine, job.config,
        train::JobHooks{.datasets = &to.datasets, .models = to.models.get()}));
  }
  for (const train::ArrayPlan& plan : plans.arrays) {
    auto& jobs = to.arrays.emplace_back();
    for (size_t i : plan.jobs) jobs.push_back(to.jobs[i].get());
    to.facts.push_back(facts_of(list.jobs, plan.jobs));
  }
}

void print_works(const std::vector<WorkPlan>& works,
                 const std::vector<WorkFacts>& facts) {
  Column name{.title = "jobs"}, steps{.title = "steps", .is_number = true},
      time{.title = "ms a step", .is_number = true},
      moving{.title = "moving ms", .is_number = true, .spare = 1},
      bytes{.title = "device", .is_number = true},
      host{.title = "host", .is_number = true, .spare = 2},
      note{.title = "", .spare = 3};
  for (size_t i = 0; i < works.size(); ++i) {
    const WorkPlan& w = works[i];
    bool fits = w.problem.empty();
    name.cells.push_back(facts[i].name);
    steps.cells.push_back(fmt::format("{}", w.steps));
    time.cells.push_back(fits ? fmt::format("{:.3g}", 1e3 * w.step_s) : "-");
    moving.cells.push_back(
        w.transfer_s > 0 ? fmt::format("{:.3g}", 1e3 * w.transfer_s) : "");
    bytes.cells.push_back(fits ? bytes_text(w.peak_bytes) : "-");
    host.cells.push_back(w.host_bytes > 0 ? bytes_text(w.host_bytes) : "");
    note.cells.push_back(!fits            ? "does not fit"
                         : w.saves_memory ? "parts are moved or recomputed"
                                          : "");
  }
  for (const std::string& line : table_lines(
           {name, steps, time, moving, bytes, host, note}, line_width())) {
    print("{}\n", line);
  }
}

double busy_share(const schedule::DeviceTimes& times,
                  const schedule::Outcome& outcome) {
  auto all = static_cast<double>(outcome.end_ns);
  return all > 0 ? times.compute_ns / all : 0;
}

// The same jobs on other numbers of devices.
constexpr int kCounts[] = {1, 2, 4, 8};

struct Answer {
  const train::SharingPlan& sharing;
  const std::vector<WorkFacts>& facts;
  const train::JobDevices& devices;

  PredictedSchedule on(int count) const {
    return predict_schedule(sharing.works, facts, devices, count,
                            sharing.at_once);
  }
  std::vector<std::string> device_names() const {
    std::vector<std::string> names;
    for (DeviceId id : devices.ids) names.push_back(device_text(id));
    return names;
  }
  std::vector<std::string> job_names() const {
    std::vector<std::string> names;
    for (const WorkFacts& f : facts) names.push_back(f.name);
    return names;
  }
};

double seconds(int64_t ns) { return 1e-9 * static_cast<double>(ns); }

void print_answer(const Answer& answer, const PredictedSchedule& predicted) {
  print("{}\n\n", sharing_words(answer.sharing, answer.devices));
  print_works(answer.sharing.works, answer.facts);
  print("\n");
  for (const std::string& line :
       gantt_lines(predicted.outcome, answer.device_names(), answer.job_names(),
                   line_width())) {
    print("{}\n", line);
  }
  print("\ntime    about {} by {}; no order takes less than {}\n",
        duration_text(seconds(predicted.outcome.end_ns)), answer.devices.policy,
        duration_text(seconds(predicted.least_ns)));
  for (size_t i = 0; i < answer.devices.ids.size(); ++i) {
    print("{:<7} busy {:.0f} %\n", device_text(answer.devices.ids[i]),
          100 * busy_share(predicted.outcome.devices[i], predicted.outcome));
  }
  print("\n");
  for (int count : kCounts) {
    PredictedSchedule other = answer.on(count);
    print("on {} device{}  about {}\n", count, count == 1 ? " " : "s",
          duration_text(seconds(other.outcome.end_ns)));
  }
}

Json works_json(const Answer& answer, const PredictedSchedule& predicted) {
  Json list = Json::array();
  for (size_t i = 0; i < answer.facts.size(); ++i) {
    const WorkPlan& w = answer.sharing.works[i];
    Json row{{"jobs", answer.facts[i].name},
             {"steps", w.steps},
             {"step_s", w.step_s},
             {"compute_s", w.compute_s},
             {"transfer_s", w.transfer_s},
             {"device_bytes", w.peak_bytes},
             {"host_bytes", w.host_bytes},
             {"saves_memory", w.saves_memory},
             {"end_s", seconds(predicted.outcome.jobs[i].end_ns)}};
    if (!w.problem.empty()) row["problem"] = w.problem;
    list.push_back(std::move(row));
  }
  return list;
}

Json answer_json(const Answer& answer, const PredictedSchedule& predicted) {
  Json busy = Json::object(), counts = Json::object();
  for (size_t i = 0; i < answer.devices.ids.size(); ++i) {
    busy[device_text(answer.devices.ids[i])] =
        busy_share(predicted.outcome.devices[i], predicted.outcome);
  }
  for (int count : kCounts) {
    counts[std::to_string(count)] = seconds(answer.on(count).outcome.end_ns);
  }
  return {{"devices", answer.device_names()},
          {"policy", answer.devices.policy},
          {"at_once", answer.sharing.at_once},
          {"makespan_s", seconds(predicted.outcome.end_ns)},
          {"least_s", seconds(predicted.least_ns)},
          {"busy", busy},
          {"by_devices", counts},
          {"works", works_json(answer, predicted)}};
}

}  // namespace

int plan_devices(const PlanJobOptions& o, const DeviceOptions& d) {
  auto machine = runtime::this_machine();
  JobArguments arguments = split_arguments(o.words);
  train::JobList list =
      train::read_job_list(arguments.files, arguments.overrides);
  plan::Profile profile = read_profile(o.profile);
  train::JobDevices devices = devices_of(d, "braid plan", list.jobs, *machine);
  train::fit_to_devices(list.jobs, devices);
  train::ArrayPlans plans =
      train::plan_arrays(*machine, list.jobs,
                         {.profile = profile,
                          .devices = static_cast<int>(devices.ids.size()),
                          .arrays = d.has_arrays()});
  Opened opened;
  open(*machine, list, plans, opened);
  compile::ProgramCache programs;
  train::SharingPlan sharing =
      choose_sharing(opened.arrays, devices, profile, programs);
  Answer answer{sharing, opened.facts, devices};
  PredictedSchedule predicted = answer.on(static_cast<int>(devices.ids.size()));
  if (!o.svg.empty()) {
    io::write_file_atomically(
        o.svg, gantt_svg(predicted.outcome, answer.device_names(),
                         answer.job_names()));
  }
  if (o.json) {
    print("{}\n", answer_json(answer, predicted).dump(1));
  } else {
    print_answer(answer, predicted);
  }
  bool fits = true;
  for (const WorkPlan& work : sharing.works) {
    if (work.problem.empty()) continue;
    fits = false;
    print_error("{}\n", work.problem);
  }
  return fits ? kOk : kFailed;
}

}  // namespace braid::cli
