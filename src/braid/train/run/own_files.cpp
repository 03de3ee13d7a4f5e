#include "braid/train/run/own_files.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "braid/base/error.h"
#include "braid/io/file/write_target.h"
#include "braid/train/job/job_folder.h"
#include "braid/train/run/run_files.h"

namespace braid::train {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code unreadable;
  return fs::exists(path, unreadable);
}

bool holds_files_of_runs(const fs::path& folder) {
  return holds_jobs(folder) ||
         (holds_run(folder) && is_there(metrics_path(folder)));
}

bool is_own_name(const std::string& name) {
  constexpr std::array<std::string_view, 9> kNames = {
      "config.yaml",   "data.json",     "jobs.json",
      "log.txt",       "metrics.jsonl", "classes.csv",
      "confusion.csv", "results.csv",   "results.json"};
  return name.starts_with("events.out.tfevents.") ||
         std::ranges::find(kNames, name) != kNames.end();
}

// The folder whose run the file is one of; empty: it is none's.
fs::path owner_of(const fs::path& file, const fs::path& out) {
  fs::path folder = file.parent_path();
  bool is_run = folder == out || holds_files_of_runs(folder);
  if (is_run && is_own_name(file.filename().string())) return folder;
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    fs::path parent = folder.parent_path();
    bool is_array = holds_jobs(parent.parent_path());
    bool is_kept = folder.filename() == "checkpoints" &&
                   (parent == out || is_array || holds_files_of_runs(parent));
    if (is_kept) return parent;
  }
  return {};
}

}  // namespace

void check_not_of_run(const fs::path& path, const fs::path& out) {
  fs::path file = fs::weakly_canonical(io::find_write_target(path).path);
  fs::path folder = out.has_filename() ? out : out.parent_path();
  fs::path owner = owner_of(file, fs::weakly_canonical(folder));
  if (owner.empty()) return;
  fail_usage(
      "[out] '{}' is a file of the run in '{}'\n"
      "HINT: choose another name; nothing was touched",
      path.string(), owner.string());
}

}  // namespace braid::train
