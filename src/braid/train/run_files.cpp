#include "braid/train/run_files.h"

#include "braid/base/error.h"
#include "braid/train/job_file.h"

namespace braid::train {
namespace {

namespace fs = std::filesystem;

fs::path metrics_path(const fs::path& out) { return out / "metrics.jsonl"; }

// Cuts before the files are opened.
fs::path cut(const fs::path& out, int64_t step) {
  int64_t kept = step > 0 ? step : -1;
  if (fs::exists(metrics_path(out))) {
    io::MetricsFile::cut_back(metrics_path(out), kept);
  }
  io::EventFile::cut_back(out, kept);
  return out;
}

}  // namespace

fs::path config_path(const fs::path& out) { return out / "config.yaml"; }

fs::path checkpoints_path(const fs::path& out) { return out / "checkpoints"; }

bool holds_run(const fs::path& out) { return fs::exists(config_path(out)); }

void create_run(const fs::path& out, const JobConfig& config) {
  if (holds_run(out)) {
    fail_usage(
        "[out] '{}' holds a run\n"
        "HINT: 'braid resume {}' goes on with it; else choose another --out",
        out.string(), out.string());
  }
  std::error_code error;
  if (fs::exists(out) && !fs::is_directory(out)) {
    fail_usage("[out] '{}' is a file, expected a folder", out.string());
  }
  if (fs::exists(out) && !fs::is_empty(out, error)) {
    fail_usage(
        "[out] '{}' is not empty\nHINT: choose another --out, nothing there "
        "is touched",
        out.string());
  }
  fs::create_directories(out, error);
  if (error) {
    fail_world("[out] cannot create '{}': {}", out.string(), error.message());
  }
  write_job(config_path(out), config);
}

RunFiles::RunFiles(const fs::path& out, const CheckpointConfig& config,
                   int64_t step, io::Trace* trace)
    : log_(cut(out, step) / "log.txt"),
      metrics_(metrics_path(out)),
      events_(out, step + 1),
      checkpoints_(checkpoints_path(out), config.keep, trace) {}

void RunFiles::add(const io::MetricsRow& row) {
  metrics_.add(row);
  io::Scalars tagged;
  for (const auto& [name, value] : row.values) {
    tagged.emplace_back(row.split + "/" + name, value);
  }
  events_.add(row.step, tagged);
}

void RunFiles::sync() {
  metrics_.sync();
  events_.sync();
}

}  // namespace braid::train
