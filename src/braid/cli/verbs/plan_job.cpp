#include "braid/cli/verbs/plan_job.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/cli/display/front_svg.h"
#include "braid/cli/display/table.h"
#include "braid/cli/display/terminal.h"
#include "braid/cli/job_arguments.h"
#include "braid/cli/output.h"
#include "braid/cli/profile_file.h"
#include "braid/cli/verbs/verb.h"
#include "braid/compile/plan_report.h"
#include "braid/io/file/file.h"
#include "braid/runtime/executables.h"
#include "braid/train/array/array_specs.h"
#include "braid/train/job/job.h"
#include "braid/train/job/job_list.h"
#include "braid/train/job/job_plan.h"
#include "braid/train/job/job_signature.h"
#include "braid/train/run/run_words.h"
#include "braid/train/run/time_run.h"

namespace braid::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFrontPoints = 8;

train::JobList read_list(const PlanJobOptions& o) {
  JobArguments arguments = split_arguments(o.words);
  auto set = [&](const char* key, const std::string& value) {
    if (!value.empty()) arguments.overrides.push_back(key + ("=" + value));
  };
  set("memory_limit", o.memory_limit);
  set("host_limit", o.host_limit);
  set("plan.solver", o.solver);
  return train::read_job_list(arguments.files, arguments.overrides);
}

// Files have room.
int table_width() {
  constexpr int kFile = 200;
  return isatty(STDOUT_FILENO) ? terminal_width(stdout) : kFile;
}

std::string milliseconds(double seconds) {
  return fmt::format("{:.2f}", 1e3 * seconds);
}

void print_segments(const compile::PlanReport& report) {
  Column name{.title = "segment"}, decision{.title = "decision"},
      device{.title = "device", .is_number = true},
      host{.title = "host", .is_number = true, .spare = 4},
      compute{.title = "compute ms", .is_number = true, .spare = 3},
      transfer{.title = "moving ms", .is_number = true, .spare = 2},
      why{.title = "why", .spare = 1};
  for (const compile::SegmentReport& s : report.segments) {
    name.cells.push_back(s.name);
    decision.cells.push_back(short_text(s.decision));
    device.cells.push_back(bytes_text(s.device_bytes));
    host.cells.push_back(s.host_bytes ? bytes_text(s.host_bytes) : "");
    compute.cells.push_back(milliseconds(s.compute_s));
    transfer.cells.push_back(s.transfer_s > 0 ? milliseconds(s.transfer_s)
                                              : "");
    why.cells.push_back(s.why);
  }
  std::vector<Column> columns{name, decision, device, host};
  columns.insert(columns.end(), {compute, transfer, why});
  for (const std::string& line : table_lines(columns, table_width())) {
    print("{}\n", line);
  }
}

std::string limit_text(const train::JobConfig& config) {
  return config.memory_limit ? " of " + bytes_text(*config.memory_limit)
                             : ", no limit";
}

// What the time is made of.
std::string_view stream_words(size_t stream) {
  constexpr std::array<std::string_view, plan::kNumStreams> kWords = {
      "computing",           "copies to the device", "copies to the host",
      "updates on the host", "collectives",          "the disk"};
  return kWords[stream];
}

void print_solution(const compile::PlanReport& report) {
  const auto& solution = report.choice.solution;
  if (!solution) return;
  double ms = 1e-6 * static_cast<double>(solution->lower_bound_ns);
  print("bound   no plan of these rows takes less than {:.2f} ms: {}\n", ms,
        solution->proved ? "this one is proved to be the best"
                         : fmt::format("at most {:.1f} % could be gained",
                                       100 * solution->gap()));
  if (solution->ns_per_byte > 0) {
    print("price   a MiB more would save about {:.3g} ms a step\n",
          1e-6 * solution->ns_per_byte * (1 << 20));
  }
  auto most = std::ranges::max_element(solution->stream_shares);
  auto stream = static_cast<size_t>(most - solution->stream_shares.begin());
  if (*most > 0) {
    print("binds   {}, {:.0f} % of the time\n", stream_words(stream),
          100 * *most);
  }
}

void print_front(const compile::PlanReport& report) {
  Column limit{.title = "device", .is_number = true},
      time{.title = "ms a step", .is_number = true},
      more{.title = "more", .is_number = true}, plan{.title = "plan"};
  for (const compile::FrontPoint& point : report.front) {
    if (!point.fits) continue;
    limit.cells.push_back(bytes_text(point.trial.bytes));
    time.cells.push_back(milliseconds(point.trial.seconds));
    more.cells.push_back(fmt::format(
        "{:.1f} %", 100 * (point.trial.seconds / report.kept.seconds - 1)));
    plan.cells.push_back(train::plan_text(point.plan));
  }
  if (limit.cells.empty()) return;
  print("\n");
  for (const std::string& row :
       table_lines({plan, limit, time, more}, table_width())) {
    print("{}\n", row);
  }
}

void print_report(const train::Job& job, const compile::PlanReport& report) {
  print_segments(report);
  const compile::PlanTrial& trial = report.choice.trial;
  print("\nplan    {}\n", train::plan_text(report.choice.plan));
  print("memory  {}{}; keeping all takes {}, the least found is {}\n",
        bytes_text(trial.bytes), limit_text(job.config()),
        bytes_text(report.kept.bytes), bytes_text(report.least_bytes));
  if (trial.host_bytes > 0) {
    print("host    {}\n", bytes_text(trial.host_bytes));
  }
  print("time    about {} ms a step, {:.1f} % more than keeping all\n",
        milliseconds(trial.seconds),
        100 * (trial.seconds / report.kept.seconds - 1));
  print_solution(report);
  print_front(report);
}

Json trial_json(const compile::PlanTrial& trial) {
  return {{"seconds", trial.seconds},
          {"bytes", trial.bytes},
          {"host_bytes", trial.host_bytes}};
}

Json segments_json(const compile::PlanReport& report) {
  Json list = Json::array();
  for (const compile::SegmentReport& s : report.segments) {
    list.push_back({{"name", s.name},
                    {"decision", decision_text(s.decision)},
                    {"device_bytes", s.device_bytes},
                    {"host_bytes", s.host_bytes},
                    {"compute_s", s.compute_s},
                    {"transfer_s", s.transfer_s},
                    {"freed_bytes", s.freed_bytes},
                    {"more_s", s.more_s},
                    {"why", s.why}});
  }
  return list;
}

Json report_json(const std::string& name, const train::Job& job,
                 const compile::PlanReport& report) {
  const auto& limit = job.config().memory_limit;
  Json json{{"job", name},
            {"feasible", report.choice.fits},
            {"limit_bytes", limit ? Json(*limit) : Json()},
            {"depth", report.choice.plan.depth},
            {"order", order_name(report.choice.plan.order)},
            {"predicted", trial_json(report.choice.trial)},
            {"keeping_all", trial_json(report.kept)},
            {"least_bytes", report.least_bytes},
            {"segments", segments_json(report)}};
  if (const auto& solution = report.choice.solution) {
    json["solver"] = {{"lower_bound_ns", solution->lower_bound_ns},
                      {"time_ns", solution->time_ns()},
                      {"proved", solution->proved},
                      {"gap", solution->gap()},
                      {"ns_per_byte", solution->ns_per_byte}};
  }
  json["front"] = Json::array();
  for (const compile::FrontPoint& point : report.front) {
    if (!point.fits) continue;
    Json row = trial_json(point.trial);
    row["limit_bytes"] = point.limit_bytes;
    json["front"].push_back(std::move(row));
  }
  return json;
}

void write(const std::string& path, const std::string& text) {
  if (!path.empty()) io::write_file_atomically(path, text);
}

int infeasible(const train::Job& job, const compile::PlanReport& report) {
  const compile::PlanTrial& trial = report.choice.trial;
  const train::JobConfig& config = job.config();
  int64_t host_limit = config.host_limit.value_or(kNoLimit);
  if (trial.host_bytes > host_limit) {
    print_error(
        "[braid plan] no plan was found that moves at most {} to host memory: "
        "{} bytes are missing\n",
        bytes_text(host_limit), trial.host_bytes - host_limit);
  } else {
    int64_t limit = config.memory_limit.value_or(0);
    print_error(
        "[braid plan] no plan was found for {}: {} bytes are missing; the "
        "least is {} ({} bytes)\n",
        bytes_text(limit), trial.bytes - limit, bytes_text(trial.bytes),
        trial.bytes);
  }
  print_error("HINT: {}\n", plan::memory_hint(host_limit));
  return kFailed;
}

bool is_here(const runtime::Machine& machine, DeviceId id) {
  if (id.kind == DeviceKind::kCpu) return true;
  return std::ranges::any_of(
      machine.devices(), [&](const auto& device) { return device.id == id; });
}

// A device that is not here, as the profile knows it.
compile::Target target_from(const train::Job& job,
                            const plan::Profile& profile) {
  const plan::DeviceInfo* device = profile.device(job.device().kind);
  if (!device) {
    fail_usage(
        "[braid plan] there is no {} here, and the profile knows none\n"
        "HINT: 'braid plan' or 'braid bench links' with --profile FILE on a "
        "machine that\n  has one writes what is needed",
        device_text(job.device()));
  }
  compile::Target target{.device = *device,
                         .threads = job.threads(),
                         .limit_bytes = device->bytes,
                         .profile = profile};
  const train::JobConfig& config = job.config();
  if (config.memory_limit) target.limit_bytes = *config.memory_limit;
  if (config.host_limit) target.host_limit_bytes = *config.host_limit;
  target.workspace = [profile, kind = device->id.kind, threads = job.threads()](
                         const Graph& graph, const Node& node, bool on_host) {
    std::string key =
        plan::call_key(on_host ? DeviceKind::kCpu : kind, threads, graph, node);
    auto known = profile.find(plan::Measured::kWorkspace, key);
    return static_cast<int64_t>(known.value_or(0));
  };
  return target;
}

// What the profile lacks is measured in a few steps of the job.
void complete(const train::Job& job, const PlanJobOptions& o,
              plan::Profile& profile) {
  if (o.profile.empty()) return;
  try {
    train::TimedRun timed = train::complete_profile({&job}, profile);
    if (timed.steps > 0 && !o.json)
      print("{}\n", train::timed_words(timed, o.profile));
  } catch (const WorldError& error) {
    print_error("{}\nNothing was measured; times are estimates.\n",
                error.what());
  }
  write_profile(o.profile, profile);
}

// As if the job were trained alone.
int plan_one(const runtime::Machine& machine, const train::NamedJob& named,
             const PlanJobOptions& o, plan::Profile& profile, Json* list) {
  train::Job job(machine, named.config);
  std::unique_ptr<runtime::Backend> backend;
  compile::Target target;
  if (is_here(machine, job.device())) {
    complete(job, o, profile);
    backend = job.open_device();
    target = runtime::target_of(machine.ops(), *backend, job.threads());
    target.profile = profile;
  } else {
    target = target_from(job, profile);
  }
  target.has_file = !named.config.spill_dir.empty();
  compile::Planner planner(machine.ops(), train::array_specs({&job}, {}).all,
                           target, train::plan_request(named.config.plan));
  compile::PlanReport report =
      report_plan(planner, {.front_points = kFrontPoints});
  if (list) list->push_back(report_json(named.name, job, report));
  write(o.svg, front_svg(report));
  write(o.dot, plan_dot(report));
  if (!report.choice.fits) return infeasible(job, report);
  write(o.save, compile::plan_yaml(report.choice.plan, planner.segments()));
  if (!list) print_report(job, report);
  return kOk;
}

}  // namespace

int plan_job(const PlanJobOptions& o) {
  auto machine = runtime::this_machine();
  train::JobList list = read_list(o);
  Json answers = Json::array();
  std::set<std::string> seen;
  plan::Profile profile = read_profile(o.profile);
  int code = kOk;
  for (const train::NamedJob& job : list.jobs) {
    if (!seen.insert(train::config_signature(job.config)).second) continue;
    bool has_title = !list.is_single && !o.json;
    if (has_title) print("{}{}\n", seen.size() > 1 ? "\n" : "", job.name);
    code = std::max(
        code, plan_one(*machine, job, o, profile, o.json ? &answers : nullptr));
  }
  if (o.json) {
    print("{}\n", (list.is_single ? answers.at(0) : answers).dump(1));
  }
  return code;
}

}  // namespace braid::cli
