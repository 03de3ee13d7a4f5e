#include "braid/train/run/read_results.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/io/file/directory_lock.h"
#include "braid/io/file/file.h"
#include "braid/train/job/job_file.h"
#include "braid/train/job/job_folder.h"
#include "braid/train/job/job_metrics.h"
#include "braid/train/queue/queue_folder.h"
#include "braid/train/run/run_files.h"
#include "braid/train/run/run_record.h"

namespace braid::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// What metrics.jsonl says. A line that is being written does not count.
struct Numbers {
  int64_t step = 0;
  double epoch = 0, seconds = 0;
  std::optional<double> loss = {};
  struct Evaluation {
    int64_t step = 0;
    io::Scalars values = {};
  };
  std::vector<Evaluation> evaluations = {};
  io::Scalars raw = {};
};

bool is_metric(const std::string& key) {
  constexpr std::array<std::string_view, 5> kOthers = {
      "step", "epoch", "time_s", "split", "weights"};
  return std::ranges::find(kOthers, key) == kOthers.end();
}

io::Scalars values_of(const Json& row) {
  io::Scalars values;
  for (const auto& [key, value] : row.items()) {
    if (is_metric(key)) {
      values.emplace_back(key, value.is_number() ? value.get<double>() : NAN);
    }
  }
  return values;
}

std::optional<double> number_of(const Json& row, const char* key) {
  auto found = row.find(key);
  if (found == row.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

void add_row(const Json& row, Numbers& numbers) {
  auto step = number_of(row, "step");
  if (!row.is_object() || !step) return;
  numbers.step = static_cast<int64_t>(*step);
  numbers.epoch = number_of(row, "epoch").value_or(numbers.epoch);
  numbers.seconds = number_of(row, "time_s").value_or(numbers.seconds);
  std::string split = row.value("split", "");
  if (split == "train") numbers.loss = number_of(row, "loss");
  if (split == "eval") {
    numbers.evaluations.push_back({numbers.step, values_of(row)});
  }
  if (split == "eval_raw") numbers.raw = values_of(row);
}

Numbers read_numbers(const fs::path& run) {
  Numbers numbers;
  auto file = io::MappedFile::open_if_exists(metrics_path(run));
  if (!file) return numbers;
  std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                        file->bytes().size());
  for (size_t end = 0; (end = text.find('\n')) != text.npos;) {
    Json row = Json::parse(text.substr(0, end), nullptr, false);
    if (row.is_object()) add_row(row, numbers);
    text.remove_prefix(end + 1);
  }
  return numbers;
}

// The best by one metric, as a run takes note of it.
Best best_of(const Numbers& numbers, const Watched& by, double min_delta) {
  Best best{.metric = by.metric};
  for (const Numbers::Evaluation& evaluation : numbers.evaluations) {
    for (const auto& [name, value] : evaluation.values) {
      if (name != by.metric) continue;
      best.observe(value, evaluation.step, by.higher_is_better, min_delta);
    }
  }
  return best;
}

std::vector<std::string> names_of(const Numbers& numbers) {
  std::vector<std::string> names;
  if (numbers.evaluations.empty()) return names;
  for (const auto& [name, unused] : numbers.evaluations.back().values) {
    names.push_back(name);
  }
  return names;
}

int64_t steps_of(const JobConfig& job, const Numbers& numbers) {
  if (job.steps) return *job.steps;
  if (!job.epochs || numbers.epoch <= 0) return 0;
  double per_epoch = static_cast<double>(numbers.step) / numbers.epoch;
  return std::llround(per_epoch * static_cast<double>(*job.epochs));
}

MemberState end_of(const JobConfig& job, const Numbers& numbers,
                   int64_t steps) {
  if (numbers.step == 0) return MemberState::kWaiting;
  if (steps > 0 && numbers.step >= steps) return MemberState::kDone;
  const EarlyStopConfig& stop = job.eval.early_stop;
  if (stop.patience > 0) {
    Best mark =
        best_of(numbers, stops_by(job, names_of(numbers)), stop.min_delta);
    if (mark.worse >= stop.patience) return MemberState::kStoppedEarly;
  }
  return MemberState::kStopped;
}

bool is_trained(const fs::path& folder) {
  return io::DirectoryLock::is_taken(folder);
}

RunResult read_run(const fs::path& folder, const std::string& name,
                   const JobConfig& job) {
  RunResult run{.name = name, .folder = folder.string()};
  Numbers numbers = read_numbers(folder);
  run.step = numbers.step;
  run.seconds = numbers.seconds;
  run.loss = numbers.loss;
  run.steps = steps_of(job, numbers);
  run.raw = numbers.raw;
  run.state = is_trained(folder) ? MemberState::kTraining
                                 : end_of(job, numbers, run.steps);
  if (numbers.evaluations.empty()) return run;
  run.last = numbers.evaluations.back().values;
  run.last_eval = numbers.evaluations.back().step;
  Watched by = best_by(job, names_of(numbers));
  Best best = best_of(numbers, by, 0);
  run.best = {.metric = by.metric,
              .higher_is_better = by.higher_is_better,
              .value = best.value,
              .step = best.step};
  return run;
}

// What the process that trains the list has written of each job, by name.
std::map<std::string, Json> read_written(const fs::path& list) {
  std::map<std::string, Json> written;
  auto file = io::MappedFile::open_if_exists(results_json_path(list));
  if (!file) return written;
  const auto* begin = reinterpret_cast<const char*>(file->bytes().data());
  Json json = Json::parse(begin, begin + file->bytes().size(), nullptr, false);
  if (!json.is_object() || !json.contains("runs")) return written;
  for (const Json& run : json["runs"]) {
    if (run.is_object() && run.contains("name") && run["name"].is_string()) {
      written[run["name"].get<std::string>()] = run;
    }
  }
  return written;
}

// What no file of the run itself tells: why it failed, and how long it will
// be. It has gone on since where it has more steps than that.
void add_written(const Json& written, bool is_list_trained, RunResult& run) {
  auto step = number_of(written, "step");
  if (auto steps = number_of(written, "steps"); steps && run.steps == 0) {
    run.steps = static_cast<int64_t>(*steps);
  }
  bool is_old = step && run.step > static_cast<int64_t>(*step);
  auto state = written.contains("state") && written["state"].is_string()
                   ? find_state(written["state"].get<std::string>())
                   : std::nullopt;
  bool is_alive = run.state == MemberState::kTraining;
  if (!state || (is_old && !is_list_trained)) return;
  bool is_ended = has_ended(*state) && *state != MemberState::kStopped;
  bool is_known = is_ended || (is_list_trained && is_alive);
  if (is_known) run.state = *state;
  // Lines of metrics are rarer than steps.
  if (is_known && step) {
    run.step = std::max(run.step, static_cast<int64_t>(*step));
  }
  if (run.state != MemberState::kFailed) return;
  if (written.contains("error") && written["error"].is_string()) {
    run.error = written["error"].get<std::string>();
  }
}

// What workers say of the jobs that they share, by job. One that a worker has
// trains, whatever else was written of it.
struct Queued {
  std::vector<bool> trains = {};
  std::map<std::string, std::string> failures = {};
};

Queued read_queued(const fs::path& folder, const JobFolder& jobs) {
  Queued queued{.trains = std::vector<bool>(jobs.jobs.size(), false)};
  if (!holds_queue(folder)) return queued;
  QueueConfig config = read_queue(folder);
  for (size_t i = 0; i < jobs.arrays.size(); ++i) {
    ArrayTicket ticket = read_ticket(folder, i);
    bool is_live = is_trained(folder, i, ticket, config);
    for (size_t job : jobs.arrays[i]) {
      queued.trains[job] = is_live;
      if (ticket.state == ArrayState::kFailed && !ticket.error.empty()) {
        queued.failures[jobs.jobs[job].name] = ticket.error;
      }
    }
    queued.failures.merge(ticket.failures);
  }
  return queued;
}

void add_queued(bool trains, const Queued& queued, RunResult& run,
                const std::string& name) {
  auto failure = queued.failures.find(name);
  if (failure != queued.failures.end()) {
    run.state = MemberState::kFailed;
    run.error = failure->second;
  } else if (trains &&
             (!has_ended(run.state) || run.state == MemberState::kStopped)) {
    run.state = MemberState::kTraining;
  }
}

struct Found {
  Results results = {};
  std::vector<JobConfig> jobs = {};
};

void add_list(const fs::path& folder, const std::string& prefix, Found& found) {
  std::map<std::string, Json> written = read_written(folder);
  bool is_list_trained = is_trained(folder);
  JobFolder jobs = read_job_folder(folder);
  Queued queued = read_queued(folder, jobs);
  for (size_t i = 0; i < jobs.jobs.size(); ++i) {
    const NamedJob& job = jobs.jobs[i];
    fs::path own = folder / job.name;
    found.jobs.push_back(holds_run(own) ? read_job(config_path(own))
                                        : job.config);
    RunResult run = read_run(own, prefix + job.name, found.jobs.back());
    auto known = written.find(job.name);
    if (known != written.end())
      add_written(known->second, is_list_trained, run);
    add_queued(queued.trains[i], queued, run, job.name);
    found.results.runs.push_back(std::move(run));
  }
}

void add_any(const fs::path& folder, const std::string& name, Found& found) {
  if (holds_jobs(folder)) {
    add_list(folder, name.empty() ? "" : name + "/", found);
  } else if (holds_run(folder)) {
    found.jobs.push_back(read_job(config_path(folder)));
    std::string own = fs::weakly_canonical(folder).filename().string();
    found.results.runs.push_back(
        read_run(folder, name.empty() ? own : name, found.jobs.back()));
  }
}

}  // namespace

Results read_results(const fs::path& folder) {
  Found found;
  add_any(folder, "", found);
  std::error_code error;
  if (found.jobs.empty()) {
    std::vector<fs::path> inside;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      inside.push_back(entry.path());
    }
    std::ranges::sort(inside);
    for (const fs::path& path : inside) {
      add_any(path, path.filename().string(), found);
    }
  }
  if (found.jobs.empty()) {
    fail_usage(
        "[runs] '{}' holds no run and no list of jobs\n"
        "HINT: give a folder as --out of 'braid train', or one that holds such",
        folder.string());
  }
  add_differences(found.results, found.jobs);
  return found.results;
}

}  // namespace braid::train
