#include "braid/cli/verbs/plan_instance.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/cli/display/table.h"
#include "braid/cli/display/terminal.h"
#include "braid/cli/output.h"
#include "braid/cli/verbs/verb.h"
#include "braid/io/file/file.h"
#include "braid/plan/solve/solve.h"

namespace braid::cli {
namespace {

using Json = nlohmann::ordered_json;
using plan::Instance;
using plan::Solution;

Instance read_instance(const std::string& path) {
  io::MappedFile file(path);
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                        file.bytes().size());
  Instance instance = plan::parse_instance(text, path);
  file.check();
  return instance;
}

double milliseconds(int64_t ns) { return static_cast<double>(ns) / 1e6; }

// ns per byte as ms per GiB.
double per_gib(double price) { return price * 1073741824.0 / 1e6; }

// --- JSON --------------------------------------------------------------------

Json streams_json(const Solution& s) {
  Json streams = Json::object();
  for (size_t k = 0; k < plan::kNumStreams; ++k) {
    const plan::StreamUse& use = s.timeline.streams[k];
    if (use.busy_ns == 0) continue;
    streams[std::string(plan::kStreamNames[k])] = {
        {"busy_ns", use.busy_ns},
        {"finish_ns", use.finish_ns},
        {"share", s.stream_shares[k]}};
  }
  return streams;
}

Json plan_json(const Solution& s) {
  return {{"feasible", true},
          {"depth", s.depth},
          {"modes", s.modes},
          {"time_ns", s.time_ns()},
          {"peak_bytes", s.peak_bytes()},
          {"lower_bound_ns", s.lower_bound_ns},
          {"proved", s.proved},
          {"gap", s.gap()},
          {"host_bytes", s.timeline.host_bytes},
          {"binding_slot", s.timeline.binding_slot},
          {"ns_per_byte", s.ns_per_byte},
          {"ns_per_host_byte", s.ns_per_host_byte},
          {"streams", streams_json(s)}};
}

// Without plans that keep the host's limit there is no least peak.
Json no_plan_json(const Solution& s) {
  Json json{{"feasible", false}, {"least_peak_bytes", nullptr}};
  if (s.least_peak_bytes >= 0) {
    json["least_peak_bytes"] = s.least_peak_bytes;
    json["least_peak_bound"] = s.least_peak_bound;
  }
  json["least_host_bytes"] = s.least_host_bytes;
  json["proved"] = s.proved;
  return json;
}

// --- text --------------------------------------------------------------------

std::string limit_text(int64_t limit) {
  return limit == kNoLimit ? "" : " of " + bytes_text(limit);
}

std::string slot_text(const Instance& instance, int slot) {
  int i = plan::segment_of_slot(slot, instance.num_segments());
  const std::string& name = instance.segments[static_cast<size_t>(i)].name;
  return fmt::format(
      "{} of {}", slot < instance.num_segments() ? "forward" : "backward",
      name.empty() ? fmt::format("segment {}", i) : printable(name, 40));
}

std::string bound_text(const Solution& s) {
  if (s.proved) return "; proved: no plan is faster";
  if (s.lower_bound_ns <= 0) return "";
  return fmt::format("; no plan is faster than {:.3f} ms (gap {:.2f} %)",
                     milliseconds(s.lower_bound_ns), 100 * s.gap());
}

void print_summary(const Instance& instance, const PlanInstanceOptions& o,
                   const Solution& s) {
  print("plan   {} segments, depth {}, by '{}'\n", instance.num_segments(),
        s.depth, o.solve.solver);
  print("time   {:.3f} ms{}\n", milliseconds(s.time_ns()), bound_text(s));
  print("memory {}{}, most in {}\n", bytes_text(s.peak_bytes()),
        limit_text(instance.device_bytes),
        slot_text(instance, s.timeline.binding_slot));
  if (s.timeline.host_bytes > 0) {
    print("host   {}{}\n", bytes_text(s.timeline.host_bytes),
          limit_text(instance.host_bytes));
  }
  if (s.ns_per_byte > 0) {
    print("price  {:.4g} ms for a GiB less\n", per_gib(s.ns_per_byte));
  }
  if (s.ns_per_host_byte > 0) {
    print("price  {:.4g} ms for a GiB less on the host\n",
          per_gib(s.ns_per_host_byte));
  }
}

void print_table(std::vector<Column> columns) {
  for (const std::string& line :
       table_lines(std::move(columns), terminal_width(stdout))) {
    print("{}\n", line);
  }
}

void print_streams(const Solution& s) {
  Column names{"stream"}, busy{"busy", {}, true}, share{"binds", {}, true};
  for (size_t k = 0; k < plan::kNumStreams; ++k) {
    const plan::StreamUse& use = s.timeline.streams[k];
    if (use.busy_ns == 0) continue;
    names.cells.emplace_back(plan::kStreamNames[k]);
    busy.cells.push_back(fmt::format(
        "{:.0f} %",
        100 * static_cast<double>(use.busy_ns) /
            static_cast<double>(std::max(s.time_ns(), int64_t{1}))));
    share.cells.push_back(fmt::format("{:.0f} %", 100 * s.stream_shares[k]));
  }
  if (s.ns_per_byte > 0) {
    print_table({names, busy, share});
  } else {
    print_table({names, busy});
  }
}

void print_segments(const Instance& instance, const Solution& s) {
  Column names{"segment"}, modes{"mode"};
  Column forward{"forward ms", {}, true}, backward{"backward ms", {}, true};
  for (int i = 0; i < instance.num_segments(); ++i) {
    int32_t choice = s.modes[static_cast<size_t>(i)];
    const plan::Mode& mode = instance.mode(i, choice);
    const std::string& name = instance.segments[static_cast<size_t>(i)].name;
    names.cells.push_back(name.empty() ? std::to_string(i) : name);
    modes.cells.push_back(mode.name.empty() ? std::to_string(choice)
                                            : printable(mode.name, 60));
    forward.cells.push_back(fmt::format("{:.3f}", milliseconds(mode.f)));
    backward.cells.push_back(fmt::format("{:.3f}", milliseconds(mode.b)));
  }
  print_table({names, modes, forward, backward});
}

[[noreturn]] void fail_without_plan(const Instance& instance,
                                    const PlanInstanceOptions& o,
                                    const Solution& s) {
  std::string file = printable(o.instance);
  if (s.least_peak_bytes < 0) {
    fail_world(
        "[plan] {}: no plan fits {} of host memory: the least that one needs "
        "is {}, {} bytes more",
        file, bytes_text(instance.host_bytes), bytes_text(s.least_host_bytes),
        grouped(s.least_host_bytes - instance.host_bytes));
  }
  int64_t missing = s.least_peak_bytes - instance.device_bytes;
  if (missing <= 0) {
    fail_world(
        "[plan] {}: '{}' found no plan that fits {}\nHINT: there is one; take "
        "--solver certified",
        file, o.solve.solver, bytes_text(instance.device_bytes));
  }
  std::string least =
      s.least_peak_bound == s.least_peak_bytes
          ? fmt::format("the least limit that a plan fits is {}",
                        bytes_text(s.least_peak_bytes))
          : fmt::format("the least that was found is {}, none is below {}",
                        bytes_text(s.least_peak_bytes),
                        bytes_text(s.least_peak_bound));
  fail_world("[plan] {}: no plan{} fits {}: {} bytes are missing; {}", file,
             s.proved ? "" : " that was found",
             bytes_text(instance.device_bytes), grouped(missing), least);
}

}  // namespace

int plan_instance(const PlanInstanceOptions& o) {
  Instance instance = read_instance(o.instance);
  Solution s = plan::solve(instance, o.solve);
  if (o.json) {
    print("{}\n", (s.feasible ? plan_json(s) : no_plan_json(s)).dump());
    return s.feasible ? kOk : kFailed;
  }
  if (!s.feasible) fail_without_plan(instance, o, s);
  print_summary(instance, o, s);
  print("\n");
  print_streams(s);
  print("\n");
  print_segments(instance, s);
  return kOk;
}

}  // namespace braid::cli
