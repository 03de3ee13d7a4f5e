// `braid simulate`: how jobs would go through a cluster, policy by policy.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "braid/base/csv_cell.h"
#include "braid/base/error.h"
#include "braid/cli/display/display_words.h"
#include "braid/cli/display/line_svg.h"
#include "braid/cli/display/table.h"
#include "braid/cli/display/terminal.h"
#include "braid/cli/output.h"
#include "braid/cli/verbs/options.h"
#include "braid/io/file/file.h"
#include "braid/schedule/cluster.h"
#include "braid/schedule/trace.h"

namespace braid::cli {
namespace {

using Json = nlohmann::ordered_json;
using schedule::Cluster;
using schedule::Outcome;
using schedule::Spread;
using schedule::Trace;

struct SimulateOptions {
  std::string cluster, trace, format = "braid", policy = "fifo,srtf,lrtf,fair";
  std::optional<int64_t> devices, jobs, seed;
  int64_t most_fused = 8;
  double further = 0.2;
  std::string csv, svg;
  bool json = false;
};

std::string read_text(const std::string& path) {
  io::MappedFile file(path);
  std::string text(reinterpret_cast<const char*>(file.bytes().data()),
                   file.bytes().size());
  file.check();
  return text;
}

Cluster cluster_of(const SimulateOptions& o) {
  if (o.cluster.empty() == !o.devices) {
    fail_usage("[braid simulate] expected --cluster FILE or --devices N");
  }
  Cluster cluster;
  if (o.devices) {
    if (*o.devices < 1 || *o.devices > 1'000'000) {
      fail_usage("[braid simulate] --devices: expected 1 to 1000000, got {}",
                 *o.devices);
    }
    cluster.devices = {{.name = "device", .count = *o.devices}};
  } else {
    cluster = schedule::parse_cluster(read_text(o.cluster), o.cluster);
  }
  if (o.jobs) cluster.load.jobs = *o.jobs;
  if (o.seed) cluster.load.seed = *o.seed;
  return cluster;
}

bool is_file(const std::string& format) {
  return format.find_first_of("./") != std::string::npos;
}

Trace jobs_of(const SimulateOptions& o, const Cluster& cluster) {
  if (o.trace.empty()) {
    if (cluster.load.jobs < 1 || cluster.load.jobs > 10'000'000) {
      fail_usage("[braid simulate] --jobs: expected 1 to 10000000, got {}",
                 cluster.load.jobs);
    }
    return {.jobs = schedule::draw_jobs(cluster.load, cluster.most_at_once())};
  }
  if (o.jobs) {
    fail_usage(
        "[braid simulate] --jobs is how many are drawn; --trace names all");
  }
  std::string text = read_text(o.trace);
  if (o.format == "philly") return schedule::parse_philly(text, o.trace);
  return schedule::parse_trace(
      text,
      is_file(o.format)
          ? schedule::parse_trace_format(read_text(o.format), o.format)
          : schedule::trace_format(o.format),
      o.trace);
}

std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> names;
  for (size_t at = 0; at <= list.size();) {
    size_t end = std::min(list.find(',', at), list.size());
    names.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

struct Result {
  std::string policy;
  Outcome outcome;
  Spread completion, waiting;
  double busy = 0;  // share of all devices' time, from first arrival to end
};

// The share of time in which the devices have jobs.
double busy_share(const Cluster& cluster, const Outcome& outcome) {
  double busy = 0;
  for (const schedule::DeviceTimes& times : outcome.devices) {
    busy += times.compute_ns;
  }
  double all = static_cast<double>(outcome.makespan_ns()) *
               static_cast<double>(cluster.num_devices());
  return all > 0 ? busy / all : 0;
}

std::vector<Result> simulate(const SimulateOptions& o, const Cluster& cluster,
                             const std::vector<schedule::Job>& jobs) {
  std::vector<Result> results;
  for (const std::string& name : names_of(o.policy)) {
    auto policy =
        schedule::make_policy(name, static_cast<uint64_t>(cluster.load.seed));
    Result result{
        .policy = name, .outcome = {}, .completion = {}, .waiting = {}};
    result.outcome = schedule::simulate_cluster(jobs, cluster, *policy);
    result.completion = schedule::completion(jobs, result.outcome);
    result.waiting = schedule::queueing(jobs, result.outcome);
    result.busy = busy_share(cluster, result.outcome);
    results.push_back(std::move(result));
  }
  return results;
}

double seconds(int64_t ns) { return 1e-9 * static_cast<double>(ns); }
double hours(double ns) { return ns / 3.6e12; }
double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// --- what a person sees ------------------------------------------------------

void print_results(const std::vector<Result>& results, int64_t bound_ns) {
  Column policy{.title = "policy"};
  auto number = [](const char* title, int spare) {
    return Column{.title = title, .is_number = true, .spare = spare};
  };
  Column makespan = number("makespan", 0), of_bound = number("of bound", 0),
         mean = number("done in", 0), p50 = number("p50", 2),
         p95 = number("p95", 0), p99 = number("p99", 1),
         waiting = number("waited", 0), waiting95 = number("p95", 3),
         busy = number("busy", 0), gave_way = number("gave way", 4);
  for (const Result& r : results) {
    auto duration = [](int64_t ns) { return duration_text(seconds(ns)); };
    policy.cells.push_back(r.policy);
    makespan.cells.push_back(duration(r.outcome.makespan_ns()));
    of_bound.cells.push_back(fmt::format(
        "{:.3f}", share(static_cast<double>(r.outcome.makespan_ns()),
                        static_cast<double>(bound_ns))));
    mean.cells.push_back(duration_text(1e-9 * r.completion.mean_ns));
    p50.cells.push_back(duration(r.completion.p50_ns));
    p95.cells.push_back(duration(r.completion.p95_ns));
    p99.cells.push_back(duration(r.completion.p99_ns));
    waiting.cells.push_back(duration_text(1e-9 * r.waiting.mean_ns));
    waiting95.cells.push_back(duration(r.waiting.p95_ns));
    busy.cells.push_back(fmt::format("{:.1f} %", 100 * r.busy));
    gave_way.cells.push_back(std::to_string(r.outcome.num_preempted));
  }
  std::vector<Column> columns{policy, makespan, of_bound,  mean, p50,     p95,
                              p99,    waiting,  waiting95, busy, gave_way};
  for (const std::string& line :
       table_lines(std::move(columns), terminal_width(stdout))) {
    print("{}\n", line);
  }
}

void print_trace(const Trace& trace, const schedule::Fusing& fusing) {
  print("jobs    {}, {:.1f} device hours\n", trace.jobs.size(),
        hours(fusing.device_ns));
  if (trace.num_without_devices + trace.num_unfinished == 0) return;
  print("        left out: {} without devices, {} without begin and end\n",
        trace.num_without_devices, trace.num_unfinished);
}

void print_fusing(const SimulateOptions& o, const Trace& trace,
                  const schedule::Fusing& fusing) {
  if (fusing.num_repeated == 0) return;
  print(
      "\nrepeats {} of {} jobs, {:.1f} % of the device hours, are on one "
      "device "
      "and like others of\n        their user; as arrays of {}, where each "
      "further one costs {:.0f} %, they save up to {:.1f} %\n",
      fusing.num_repeated, trace.jobs.size(),
      100 * share(fusing.repeated_ns, fusing.device_ns), o.most_fused,
      100 * o.further, 100 * share(fusing.saved_ns, fusing.device_ns));
}

// --- files -------------------------------------------------------------------

Json spread_json(const Spread& s) {
  return {{"mean_s", 1e-9 * s.mean_ns},
          {"p50_s", seconds(s.p50_ns)},
          {"p95_s", seconds(s.p95_ns)},
          {"p99_s", seconds(s.p99_ns)},
          {"most_s", seconds(s.most_ns)}};
}

Json json_of(const Trace& trace, const Cluster& cluster, int64_t bound_ns,
             const std::vector<Result>& results,
             const schedule::Fusing& fusing) {
  Json json{{"jobs", trace.jobs.size()},
            {"left_out", trace.num_without_devices + trace.num_unfinished},
            {"devices", cluster.num_devices()},
            {"device_s", 1e-9 * fusing.device_ns},
            {"lower_bound_s", seconds(bound_ns)},
            {"repeated_jobs", fusing.num_repeated},
            {"repeated_share", share(fusing.repeated_ns, fusing.device_ns)},
            {"fused_saving", share(fusing.saved_ns, fusing.device_ns)},
            {"policies", Json::array()}};
  for (const Result& r : results) {
    json["policies"].push_back(
        {{"policy", r.policy},
         {"makespan_s", seconds(r.outcome.makespan_ns())},
         {"completion", spread_json(r.completion)},
         {"queueing", spread_json(r.waiting)},
         {"busy", r.busy},
         {"gave_way", r.outcome.num_preempted},
         {"late", schedule::num_late(trace.jobs, r.outcome)}});
  }
  return json;
}

std::string csv_of(const Trace& trace, const std::vector<Result>& results) {
  std::string csv = "policy,job,user,devices,arrival_s,begin_s,end_s\n";
  for (const Result& r : results) {
    for (size_t i = 0; i < trace.jobs.size(); ++i) {
      const schedule::Job& job = trace.jobs[i];
      const schedule::JobTimes& times = r.outcome.jobs[i];
      csv += fmt::format("{},{},{},{},{},{},{}\n", r.policy, csv_cell(job.name),
                         csv_cell(job.user), job.num_devices,
                         seconds(job.arrival_ns), seconds(times.begin_ns),
                         seconds(times.end_ns));
    }
  }
  return csv;
}

// How many jobs are done by when.
std::string svg_of(const std::vector<Result>& results) {
  constexpr size_t kPoints = 200;
  std::vector<SvgLine> lines;
  for (const Result& r : results) {
    std::vector<int64_t> ends;
    for (const schedule::JobTimes& times : r.outcome.jobs) {
      ends.push_back(times.end_ns);
    }
    std::ranges::sort(ends);
    SvgLine line{.name = r.policy, .points = {{0, 0}}};
    for (size_t i = 1; i <= kPoints; ++i) {
      size_t at = (ends.size() * i + kPoints - 1) / kPoints;
      line.points.emplace_back(hours(static_cast<double>(ends[at - 1])),
                               static_cast<double>(at));
    }
    lines.push_back(std::move(line));
  }
  return line_svg("hours", "jobs done", lines);
}

int run_simulate(const SimulateOptions& o) {
  if (o.most_fused < 1 || !(o.further >= 0)) {
    fail_usage(
        "[braid simulate] expected --fuse of at least 1 and --further of at "
        "least 0");
  }
  Cluster cluster = cluster_of(o);
  for (const std::string& name : names_of(o.policy)) {
    schedule::make_policy(name);  // before anything takes long
  }
  Trace trace = jobs_of(o, cluster);
  std::vector<Result> results = simulate(o, cluster, trace.jobs);
  int64_t bound_ns =
      schedule::least_makespan_ns(trace.jobs, cluster.all_devices());
  schedule::Fusing fusing =
      schedule::fuse_repeated(trace.jobs, o.most_fused, o.further);
  if (!o.csv.empty()) {
    io::write_file_atomically(o.csv, csv_of(trace, results));
  }
  if (!o.svg.empty()) io::write_file_atomically(o.svg, svg_of(results));
  if (o.json) {
    print("{}\n", json_of(trace, cluster, bound_ns, results, fusing).dump(2));
    return kOk;
  }
  print_trace(trace, fusing);
  print("devices {}; no schedule ends within {}\n\n", cluster.num_devices(),
        duration_text(seconds(bound_ns)));
  print_results(results, bound_ns);
  print_fusing(o, trace, fusing);
  return kOk;
}

std::string footer_text() {
  std::string text = "Policies:\n";
  for (const schedule::PolicyKind& kind : schedule::policies()) {
    text += fmt::format("  {:<10}{}\n", kind.name, kind.words);
  }
  text += "Formats of traces:\n";
  for (const schedule::TraceKind& kind : schedule::trace_kinds()) {
    text += fmt::format("  {:<10}{}\n", kind.name, kind.words);
  }
  return text;
}

}  // namespace

Action add_simulate(CLI::App& app) {
  auto o = std::make_shared<SimulateOptions>();
  AddOption add(app);
  add("--cluster", o->cluster, "FILE", "Devices, and jobs to draw (YAML)");
  add.whole("--devices", o->devices, "N", "Instead: so many equal devices");
  add("--trace", o->trace, "FILE", "Jobs that some cluster ran");
  add("--format", o->format, "NAME", "Of the trace: below, or a YAML file");
  add("--policy", o->policy, "NAMES", "Those below, with commas between");
  add.whole("--jobs", o->jobs, "N", "How many are drawn without a trace");
  add.whole("--seed", o->seed, "N", "Of what is drawn");
  add.whole("--fuse", o->most_fused, "N", "Repeated jobs in an array (8)");
  add("--further", o->further, "SHARE",
      "What each further one costs of one alone (0.2)");
  add("--csv", o->csv, "FILE", "Write begin and end of each job");
  add("--svg", o->svg, "FILE", "Write a picture of jobs done over time");
  app.add_flag("--json", o->json, "Print numbers for programs");
  app.footer(footer_text());
  return [o] { return run_simulate(*o); };
}

}  // namespace braid::cli
