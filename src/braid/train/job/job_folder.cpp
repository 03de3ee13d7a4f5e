#include "braid/train/job/job_folder.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/io/checkpoint/checkpoint.h"
#include "braid/io/file/directory_lock.h"
#include "braid/io/file/file.h"
#include "braid/train/job/job_file.h"
#include "braid/train/job/job_names.h"
#include "braid/train/run/results.h"
#include "braid/train/run/run_files.h"

namespace braid::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string folder_text(const JobFolder& folder) {
  Json jobs = Json::array();
  for (const NamedJob& job : folder.jobs) {
    jobs.push_back({{"name", job.name}, {"config", job_text(job.config)}});
  }
  Json all{{"jobs", jobs},
           {"arrays", folder.arrays},
           {"profile", folder.profile.text()}};
  if (!folder.devices.ids.empty())
    all["devices"] = devices_json(folder.devices);
  return all.dump(1) + "\n";
}

JobFolder parse_folder(const Json& json, const fs::path& path) {
  JobFolder folder{
      .jobs = {},
      .arrays = json.at("arrays"),
      .profile = plan::Profile::parse(json.at("profile").get<std::string>())};
  for (const Json& job : json.at("jobs")) {
    auto text = job.at("config").get<std::string>();
    folder.jobs.push_back({job.at("name"), parse_job(text, path)});
  }
  if (json.contains("devices")) {
    folder.devices = read_devices(json.at("devices"));
  }
  return folder;
}

// The file may be from anywhere, and names are those of folders.
void check_names(const JobFolder& folder, const fs::path& path) {
  constexpr size_t kMost = 255;  // bytes of a file's name
  std::set<std::string> seen;
  for (const NamedJob& job : folder.jobs) {
    std::string problem = name_problem(job.name, kMost);
    if (problem.empty() && !seen.insert(job.name).second) {
      problem = "is that of two jobs";
    }
    if (problem.empty()) continue;
    fail_world(
        "[resume] '{}': the name '{}' of a job {}\n"
        "HINT: names are those of folders beside the file",
        path.string(), printable(job.name), problem);
  }
}

// What is wrong, without the words of the library.
std::string problem_of(const Json::exception& error) {
  const auto* parsing = dynamic_cast<const Json::parse_error*>(&error);
  if (!parsing) return "it has not the form that is written there";
  return fmt::format("it is no JSON, from byte {} on", parsing->byte);
}

// Every job is a member of one array.
bool is_whole(const JobFolder& folder) {
  std::vector<size_t> seen;
  for (const std::vector<size_t>& array : folder.arrays) {
    if (array.empty()) return false;
    seen.insert(seen.end(), array.begin(), array.end());
  }
  std::ranges::sort(seen);
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] != i) return false;
  }
  return seen.size() == folder.jobs.size() && !seen.empty();
}

// A name that leads out of the folder is not followed.
bool is_inside(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == name.npos;
}

// Whether no checkpoint of these jobs was saved, neither of one of them nor of
// an array.
bool has_saved_nothing(const fs::path& out) {
  try {
    JobFolder folder = read_job_folder(out);
    for (size_t i = 0; i < folder.arrays.size(); ++i) {
      if (io::holds_checkpoints(checkpoints_path(array_path(out, i)))) {
        return false;
      }
    }
    return std::ranges::none_of(folder.jobs, [&](const NamedJob& job) {
      return !is_inside(job.name) ||
             io::holds_checkpoints(checkpoints_path(out / job.name));
    });
  } catch (const std::exception&) {
    return false;  // what cannot be read is left alone
  }
}

// Files of others stay, and so do the folders that hold them.
void clear_unsaved_jobs(const fs::path& out) {
  std::error_code ignored;
  JobFolder folder = read_job_folder(out);
  for (const NamedJob& job : folder.jobs) {
    if (!fs::exists(out / job.name, ignored)) continue;
    io::DirectoryLock lock(out / job.name);
    clear_unsaved_run(out / job.name);
    fs::remove(log_path(out / job.name), ignored);
    fs::remove(out / job.name, ignored);
  }
  for (size_t i = 0; i < folder.arrays.size(); ++i) {
    fs::path array = array_path(out, i);
    if (!fs::exists(array, ignored)) continue;
    io::remove_litter(checkpoints_path(array));
    fs::remove(checkpoints_path(array), ignored);
    fs::remove(array, ignored);
  }
  fs::remove(results_json_path(out), ignored);
  fs::remove(results_csv_path(out), ignored);
  fs::remove(jobs_path(out), ignored);
}

}  // namespace

fs::path jobs_path(const fs::path& out) { return out / "jobs.json"; }

fs::path array_path(const fs::path& out, size_t number) {
  return out / fmt::format("array-{}", number);
}

bool holds_jobs(const fs::path& out) {
  std::error_code ignored;  // opening it tells what is wrong
  return fs::exists(jobs_path(out), ignored);
}

void check_free_for_jobs(const fs::path& out) {
  auto lock = io::DirectoryLock::take_if_exists(out);
  if (holds_jobs(out) && has_saved_nothing(out)) return;
  if (holds_jobs(out)) {
    fail_usage(
        "[out] '{}' holds jobs\n"
        "HINT: 'braid resume {}' goes on with them; else choose another --out",
        out.string(), out.string());
  }
  lock.reset();  // which is taken again
  check_free(out);
}

void create_job_folder(const fs::path& out, const JobFolder& folder) {
  check_free_for_jobs(out);
  std::error_code error;
  bool is_new = !fs::exists(out, error);
  fs::create_directories(out, error);
  if (error) {
    io::fail_file("out", "cannot create directory", out, error.value());
  }
  io::DirectoryLock lock(out);
  if (holds_jobs(out)) clear_unsaved_jobs(out);
  if (holds_run(out)) clear_unsaved_run(out);
  try {
    write_job_folder(out, folder);
  } catch (...) {
    if (is_new) fs::remove(out, error);
    throw;
  }
}

void write_job_folder(const fs::path& out, const JobFolder& folder) {
  io::write_file_atomically(jobs_path(out), folder_text(folder));
}

JobFolder read_job_folder(const fs::path& out) {
  io::MappedFile file(jobs_path(out));
  const auto* begin = reinterpret_cast<const char*>(file.bytes().data());
  std::string problem = "it is empty";
  try {
    if (!file.bytes().empty()) {
      Json json = Json::parse(begin, begin + file.bytes().size());
      JobFolder folder = parse_folder(json, jobs_path(out));
      check_names(folder, jobs_path(out));
      if (is_whole(folder)) return folder;
      problem = "it does not say which jobs train together";
    }
  } catch (const Json::exception& error) {
    problem = problem_of(error);
  }
  fail_world(
      "[resume] '{}' cannot be used: {}\n"
      "HINT: jobs go on one by one too: braid resume {}/NAME",
      jobs_path(out).string(), problem, out.string());
}

}  // namespace braid::train
