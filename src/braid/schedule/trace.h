// Traces: jobs that clusters ran, from the tables in which they were published.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "braid/config/section.h"
#include "braid/schedule/job.h"

namespace braid::schedule {

// Where the numbers of a job stand: names of columns, empty: there is none.
struct TraceFormat {
  std::string job = {};
  std::string user = {};
  std::string submit = {};  // when it arrived; else its start
  std::string start = {};   // with `end` in place of the duration
  std::string end = {};
  std::string duration = {};  // seconds
  std::string devices = {};   // all at once; none: one
  std::string each = {};      // of so many workers, so many devices
  std::string priority = {};
  std::string deadline = {};
  double device_unit = 1;  // 100: devices are in percent
  std::string separator = ",";
  std::vector<std::string> header = {};  // of files that have none
  bool may_lack = false;                 // all columns but those of times
};
void describe(config::Section& s, TraceFormat& format);

struct TraceKind {
  std::string_view name;
  std::string_view words;  // for --help and the docs
};
// Formats that are known: braid, helios, pai, and philly, which is JSON.
const std::vector<TraceKind>& trace_kinds();

// A known one by its name. Throws std::invalid_argument for another.
TraceFormat trace_format(std::string_view name);
// From YAML.
TraceFormat parse_trace_format(std::string_view text, const std::string& file);

struct Trace {
  std::vector<Job> jobs = {};       // the first one arrives at 0
  int64_t num_without_devices = 0;  // jobs that were left out,
  int64_t num_unfinished = 0;       // because there is no time of theirs
};

// Throws std::runtime_error with the file and the line for what cannot be read.
Trace parse_trace(std::string_view text, const TraceFormat& format,
                  const std::string& file);
// A job's seconds are those of all its attempts, its devices those of the last.
Trace parse_philly(std::string_view text, const std::string& file);

}  // namespace braid::schedule
