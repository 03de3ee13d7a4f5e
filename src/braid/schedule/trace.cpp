#include "braid/schedule/trace.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "braid/base/csv_reader.h"
#include "braid/base/error.h"
#include "braid/base/numbers.h"
#include "braid/base/printable.h"
#include "braid/base/text.h"
#include "braid/config/file_text.h"

namespace braid::schedule {
namespace {

using Json = nlohmann::json;

constexpr double kMostSeconds = 1e10;
constexpr int64_t kMostDevices = 1'000'000;

std::optional<int> digits(std::string_view text, size_t at, size_t count) {
  if (at + count > text.size()) return std::nullopt;
  int number = 0;
  for (char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = 10 * number + (c - '0');
  }
  return number;
}

// "2017-10-09 07:01:58" as seconds; what stands behind them is a time zone.
std::optional<double> parse_date(std::string_view text) {
  auto year = digits(text, 0, 4), month = digits(text, 5, 2);
  auto day = digits(text, 8, 2), hour = digits(text, 11, 2);
  auto minute = digits(text, 14, 2), second = digits(text, 17, 2);
  bool is_date = year && month && day && hour && minute && second &&
                 text[4] == '-' && text[7] == '-' && text[13] == ':' &&
                 text[16] == ':' && (text[10] == ' ' || text[10] == 'T');
  if (!is_date || *hour > 23 || *minute > 59 || *second > 60) {
    return std::nullopt;
  }
  std::chrono::year_month_day date{
      std::chrono::year(*year),
      std::chrono::month(static_cast<unsigned>(*month)),
      std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return 86400.0 * static_cast<double>(days) + 3600.0 * *hour + 60.0 * *minute +
         *second;
}

std::optional<double> parse_time(std::string_view text) {
  auto number = parse_number(text);
  if (number && std::isfinite(*number)) return number;
  return parse_date(text);
}

bool is_absent(std::string_view text) {
  return text.empty() || text == "None" || text == "NULL" || text == "nan" ||
         text == "NaN";
}

// A job as it was read, in seconds.
struct Row {
  std::string job, user;
  double submit_s = 0, duration_s = 0, devices = 1, priority = 0;
  std::optional<double> deadline_s;
};

int64_t nanoseconds(double seconds) { return std::llround(1e9 * seconds); }

// Times count from the first arrival.
Trace trace_of(const std::vector<Row>& rows, Trace trace) {
  double first = 0;
  if (!rows.empty()) {
    first = std::ranges::min(rows, {}, &Row::submit_s).submit_s;
  }
  for (const Row& row : rows) {
    Job job{.name = row.job, .user = row.user};
    job.units = {{.compute_ns = nanoseconds(row.duration_s)}};
    job.arrival_ns = nanoseconds(row.submit_s - first);
    job.num_devices = static_cast<int64_t>(row.devices);
    job.priority = row.priority;
    if (row.deadline_s) {
      job.deadline_ns =
          std::max<int64_t>(0, nanoseconds(*row.deadline_s - first));
    }
    trace.jobs.push_back(std::move(job));
  }
  return trace;
}

class TableReader {
 public:
  TableReader(std::string_view text, const TraceFormat& format,
              const std::string& file)
      : format_(format),
        reader_(text, format.separator[0], "trace", file),
        file_(file) {}

  Trace read() {
    std::vector<std::string> cells;
    bool has_row = reader_.next(cells);
    if (has_row) read_header(cells);
    // A file of a kind without a header may have one all the same.
    if (is_header_ && has_row) has_row = reader_.next(cells);
    for (; has_row; has_row = reader_.next(cells)) read_row(cells);
    if (rows_.empty()) {
      fail_world("[trace] {}: no job in it that could be simulated{}",
                 printable(file_), left_out());
    }
    return trace_of(rows_, trace_);
  }

 private:
  struct Column {
    const std::string* name;
    int64_t at = -1;
  };

  void read_header(const std::vector<std::string>& cells) {
    header_ = cells;
    if (!format_.header.empty()) {
      is_header_ = cells == format_.header;
      header_ = format_.header;
    }
    job_ = fact(format_.job);
    user_ = fact(format_.user);
    submit_ = column(format_.submit);
    start_ = column(format_.start);
    end_ = column(format_.end);
    duration_ = column(format_.duration);
    devices_ = fact(format_.devices);
    each_ = fact(format_.each);
    priority_ = fact(format_.priority);
    deadline_ = fact(format_.deadline);
  }

  Column fact(const std::string& name) const {
    return format_.may_lack ? optional_column(name) : column(name);
  }

  Column optional_column(const std::string& name) const {
    auto at = std::ranges::find(header_, name);
    if (name.empty() || at == header_.end()) return {&name};
    return {&name, at - header_.begin()};
  }

  Column column(const std::string& name) const {
    Column found = optional_column(name);
    if (name.empty() || found.at >= 0) return found;
    reader_.fail(fmt::format("a column '{}'", printable(name, 60)),
                 fmt::format("{} columns without it", header_.size()), 1,
                 name_hint(name, header_));
  }

  static const std::string& cell(const std::vector<std::string>& cells,
                                 const Column& column) {
    static const std::string kAbsent;
    if (column.at < 0) return kAbsent;
    return cells[static_cast<size_t>(column.at)];
  }

  // Nothing where the cell is empty; fails on what is no number in its bounds.
  std::optional<double> number(const std::vector<std::string>& cells,
                               const Column& column, bool is_time) const {
    const std::string& text = cell(cells, column);
    if (is_absent(text)) return std::nullopt;
    auto value = is_time ? parse_time(text) : parse_number(text);
    if (value && std::abs(*value) <= kMostSeconds) return value;
    reader_.fail(fmt::format("{} in column '{}'",
                             is_time ? "seconds or a date" : "a number",
                             printable(*column.name, 60)),
                 fmt::format("'{}'", printable(text, 60)), reader_.line());
  }

  void read_row(const std::vector<std::string>& cells) {
    if (cells.size() != header_.size()) {
      reader_.fail(fmt::format("{} cells", header_.size()),
                   std::to_string(cells.size()), reader_.line());
    }
    auto start = number(cells, start_, true), end = number(cells, end_, true);
    auto submit = number(cells, submit_, true);
    auto duration = number(cells, duration_, false);
    if (!duration && start && end) duration = *end - *start;
    if (!submit) submit = start;
    double devices = num_devices(cells);
    if (devices < 1) {
      ++trace_.num_without_devices;
    } else if (!submit || !duration || *duration <= 0) {
      if (duration && *duration < 0) fail_negative();
      ++trace_.num_unfinished;
    } else {
      rows_.push_back({.job = cell(cells, job_),
                       .user = cell(cells, user_),
                       .submit_s = *submit,
                       .duration_s = *duration,
                       .devices = devices,
                       .priority = number(cells, priority_, false).value_or(0),
                       .deadline_s = number(cells, deadline_, true)});
    }
  }

  [[noreturn]] void fail_negative() const {
    reader_.fail("a job that ends after it began", "a duration below 0",
                 reader_.line());
  }

  // Whole devices: parts of them are rounded up for all workers together.
  double num_devices(const std::vector<std::string>& cells) const {
    double count =
        devices_.at < 0 ? 1 : number(cells, devices_, false).value_or(0);
    if (each_.at >= 0) count *= number(cells, each_, false).value_or(0);
    count = std::ceil(count / format_.device_unit - 1e-9);
    if (count >= 0 && count <= static_cast<double>(kMostDevices)) return count;
    reader_.fail(fmt::format("0 to {} devices", kMostDevices),
                 fmt::format("{}", count), reader_.line());
  }

  std::string left_out() const {
    return fmt::format(" ({} without devices, {} without times)",
                       trace_.num_without_devices, trace_.num_unfinished);
  }

  const TraceFormat& format_;
  CsvReader reader_;
  std::string file_;
  std::vector<std::string> header_;
  bool is_header_ = true;  // the first line
  Column job_, user_, submit_, start_, end_, duration_, devices_, each_,
      priority_, deadline_;
  std::vector<Row> rows_;
  Trace trace_;
};

std::optional<double> date_of(const Json& object, const char* key) {
  auto at = object.find(key);
  if (at == object.end() || !at->is_string()) return std::nullopt;
  return parse_time(at->get<std::string>());
}

std::string text_of(const Json& object, const char* key) {
  auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

double devices_of(const Json& attempt) {
  auto detail = attempt.find("detail");
  if (detail == attempt.end() || !detail->is_array()) return 0;
  double count = 0;
  for (const Json& machine : *detail) {
    if (!machine.is_object()) continue;
    auto gpus = machine.find("gpus");
    if (gpus != machine.end()) count += static_cast<double>(gpus->size());
  }
  return count;
}

// Nothing where the job has not ended.
std::optional<Row> philly_row(const Json& job, double& devices) {
  auto submit = date_of(job, "submitted_time");
  auto attempts = job.find("attempts");
  bool has_attempts = attempts != job.end() && attempts->is_array();
  double seconds = 0;
  devices = 0;
  for (size_t i = 0; has_attempts && i < attempts->size(); ++i) {
    const Json& attempt = (*attempts)[i];
    if (!attempt.is_object()) continue;
    auto start = date_of(attempt, "start_time"),
         end = date_of(attempt, "end_time");
    if (start && end) seconds += std::max(0.0, *end - *start);
    devices = devices_of(attempt);
  }
  if (!submit || seconds <= 0) return std::nullopt;
  return Row{.job = text_of(job, "jobid"),
             .user = text_of(job, "user"),
             .submit_s = *submit,
             .duration_s = seconds,
             .devices = devices,
             .deadline_s = std::nullopt};
}

}  // namespace

void describe(config::Section& s, TraceFormat& format) {
  s.text("job", format.job, "Column of the name");
  s.text("user", format.user, "Column of whose it is");
  s.text("submit", format.submit,
         "Column of its arrival, seconds or dates (as `start`)");
  s.text("start", format.start, "Column of its begin");
  s.text("end", format.end, "Column of its end");
  s.text("duration", format.duration,
         "Column of its seconds (`end` - `start`)");
  s.text("devices", format.devices, "Column of its devices (1)");
  s.text("each", format.each, "Column of its workers, each with `devices`");
  s.text("priority", format.priority, "Column of its priority (0)");
  s.text("deadline", format.deadline, "Column of its deadline");
  s.number("device_unit", format.device_unit, "One device: 100 for percent")
      .above(0);
  s.text("separator", format.separator, "Between cells");
  s.texts("header", format.header,
          "The columns of a file that has no such line");
}

const std::vector<TraceKind>& trace_kinds() {
  static const std::vector<TraceKind> kinds = {
      {"braid",
       "CSV: job, user, submit and duration in seconds, devices; priority and "
       "deadline where wanted"},
      {"helios", "SenseTime Helios, cluster_log.csv"},
      {"pai", "Alibaba PAI 2020, pai_task_table.csv"},
      {"philly", "Microsoft Philly, cluster_job_log (JSON)"},
  };
  return kinds;
}

TraceFormat trace_format(std::string_view name) {
  TraceFormat format;
  if (name == "braid") {
    format = {.job = "job", .user = "user", .submit = "submit"};
    format.duration = "duration";
    format.devices = "devices";
    format.priority = "priority";
    format.deadline = "deadline";
    format.may_lack = true;
  } else if (name == "helios") {
    format = {.job = "job_id", .user = "user", .submit = "submit_time"};
    format.duration = "duration";
    format.devices = "gpu_num";
  } else if (name == "pai") {
    format = {.job = "job_name", .start = "start_time", .end = "end_time"};
    format.devices = "plan_gpu";
    format.each = "inst_num";
    format.device_unit = 100;
    format.header = {"job_name",   "task_name", "inst_num", "status",
                     "start_time", "end_time",  "plan_cpu", "plan_mem",
                     "plan_gpu",   "gpu_type"};
  } else {
    std::vector<std::string> names;
    for (const TraceKind& kind : trace_kinds()) names.emplace_back(kind.name);
    fail_usage("[trace] there is no format '{}'\nHINT: {}; or a YAML file",
               printable(name, 60), name_hint(name, names));
  }
  return format;
}

TraceFormat parse_trace_format(std::string_view text, const std::string& file) {
  auto format = config::read_file_text<TraceFormat>(text, "trace", file);
  bool has_times = !format.duration.empty() ||
                   (!format.start.empty() && !format.end.empty());
  bool has_arrival = !format.submit.empty() || !format.start.empty();
  if (!has_times || !has_arrival || format.separator.size() != 1) {
    fail_usage(
        "[trace] {}: expected `submit` or `start`, `duration` or `start` and "
        "`end`, and one character as `separator`",
        printable(file));
  }
  return format;
}

Trace parse_trace(std::string_view text, const TraceFormat& format,
                  const std::string& file) {
  return TableReader(text, format, file).read();
}

Trace parse_philly(std::string_view text, const std::string& file) {
  Json jobs = Json::parse(text, nullptr, false);
  if (!jobs.is_array()) {
    fail_world("[trace] {}: expected a list of jobs in JSON", printable(file));
  }
  Trace trace;
  std::vector<Row> rows;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (!jobs[i].is_object()) {
      fail_world("[trace] {}: expected an object as job {}", printable(file),
                 i + 1);
    }
    double devices = 0;
    auto row = philly_row(jobs[i], devices);
    if (!row) {
      ++trace.num_unfinished;
    } else if (devices < 1) {
      ++trace.num_without_devices;
    } else {
      rows.push_back(*row);
    }
  }
  if (rows.empty()) {
    fail_world("[trace] {}: no job in it that could be simulated",
               printable(file));
  }
  return trace_of(rows, trace);
}

}  // namespace braid::schedule
