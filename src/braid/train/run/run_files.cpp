#include "braid/train/run/run_files.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/data/known_fields.h"
#include "braid/io/checkpoint/checkpoint.h"
#include "braid/io/file/directory_lock.h"
#include "braid/train/job/job_file.h"
#include "braid/train/run/class_tables.h"
#include "braid/train/run/metric_outputs.h"

namespace braid::train {
namespace {

namespace fs = std::filesystem;

// Cuts before the files are opened.
fs::path cut(const fs::path& out, int64_t step,
             const io::Fence* fence = nullptr) {
  if (fence) fence->check();
  int64_t kept = step > 0 ? step : -1;
  if (fs::exists(metrics_path(out))) {
    io::MetricsFile::cut_back(metrics_path(out), kept);
  }
  io::EventFile::cut_back(out, kept);
  return out;
}

// Temporary files of a process that was killed do not count.
bool is_unused(const fs::path& out) {
  std::error_code error;
  fs::directory_iterator entries(out, error);
  if (error) io::fail_file("out", "cannot read", out, error.value());
  return std::ranges::all_of(entries, [](const fs::directory_entry& entry) {
    return io::is_temporary_name(entry.path());
  });
}

void create_folder(const fs::path& out) {
  std::error_code error;
  fs::create_directories(out, error);
  if (error) {
    io::fail_file("out", "cannot create directory", out, error.value());
  }
}

}  // namespace

fs::path config_path(const fs::path& out) { return out / "config.yaml"; }

fs::path data_path(const fs::path& out) { return out / "data.json"; }

fs::path metrics_path(const fs::path& out) { return out / "metrics.jsonl"; }

fs::path log_path(const fs::path& out) { return out / "log.txt"; }

fs::path classes_path(const fs::path& out) { return out / "classes.csv"; }

fs::path confusion_path(const fs::path& out) { return out / "confusion.csv"; }

fs::path checkpoints_path(const fs::path& out) { return out / "checkpoints"; }

bool holds_run(const fs::path& out) {
  std::error_code ignored;  // opening it tells what is wrong
  return fs::exists(config_path(out), ignored);
}

bool holds_unsaved_run(const fs::path& out) {
  return holds_run(out) && !io::holds_checkpoints(checkpoints_path(out));
}

void clear_unsaved_run(const fs::path& out) {
  cut(out, 0);
  std::error_code ignored;  // what stays is written anew, or is in nobody's way
  io::remove_litter(checkpoints_path(out));
  fs::remove(checkpoints_path(out), ignored);
  for (const fs::path& path : {metrics_path(out), data_path(out),
                               classes_path(out), confusion_path(out)}) {
    fs::remove(path, ignored);
  }
  fs::remove(config_path(out), ignored);
}

void check_free(const fs::path& out) {
  auto lock = io::DirectoryLock::take_if_exists(out);
  if (holds_unsaved_run(out)) return;
  if (holds_run(out)) {
    fail_usage(
        "[out] '{}' holds a run\n"
        "HINT: 'braid resume {}' goes on with it; else choose another --out",
        out.string(), out.string());
  }
  if (!lock || is_unused(out)) return;
  fail_usage(
      "[out] '{}' is not empty\n"
      "HINT: choose another --out; nothing there was touched",
      out.string());
}

void create_run(const fs::path& out, const JobConfig& config) {
  check_free(out);
  std::error_code ignored;
  bool is_new = !fs::exists(out, ignored);
  create_folder(out);
  io::DirectoryLock lock(out);
  if (holds_run(out)) clear_unsaved_run(out);
  try {
    write_job(config_path(out), config);
  } catch (...) {
    if (is_new) fs::remove(out, ignored);
    throw;
  }
}

void keep_known(const fs::path& out, const std::vector<data::Field>& fields) {
  if (!data::has_known(fields)) return;
  std::string json = data::known_json(fields);
  if (auto kept = io::MappedFile::open_if_exists(data_path(out))) {
    std::string_view text(reinterpret_cast<const char*>(kept->bytes().data()),
                          kept->bytes().size());
    if (text == json) return;
  }
  io::write_file_atomically(data_path(out), json);
}

RunFiles::RunFiles(const fs::path& out, const CheckpointConfig& config,
                   int64_t step, io::Trace* trace, const io::Fence* fence)
    : fence_(fence),
      out_(out),
      log_(log_path(cut(out, step, fence))),
      metrics_(metrics_path(out)),
      events_(out, step + 1),
      checkpoints_(checkpoints_path(out), config.keep, trace, fence) {}

void RunFiles::add(const io::MetricsRow& row) {
  check_fence();
  metrics_.add(row);
  io::Scalars tagged;
  for (const auto& [name, value] : row.values) {
    tagged.emplace_back(row.split + "/" + name, value);
  }
  events_.add(row.step, tagged);
}

void RunFiles::add_tables(int64_t step, const std::vector<std::string>& tables,
                          const ClassCounts& counts,
                          const std::vector<std::string>& names) {
  check_fence();
  bool is_shown = counts.num_classes() <= kMostShownClasses;
  for (const std::string& table : tables) {
    bool is_matrix = table == kConfusionTable;
    io::write_file_atomically(
        is_matrix ? confusion_path(out_) : classes_path(out_),
        is_matrix ? confusion_csv(counts, names)
                  : classes_csv(counts, step, names));
    if (!is_shown) continue;
    events_.add_text(step, fmt::format("eval/{}/text_summary", table),
                     is_matrix ? confusion_markdown(counts, names)
                               : classes_markdown(counts, names));
  }
}

void RunFiles::sync() {
  metrics_.sync();
  events_.sync();
}

}  // namespace braid::train
