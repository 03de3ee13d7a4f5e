// libFuzzer target: any bytes either are a job, a list of them, a members file
// or a plan file, all of whose values can be looked at, or are refused with one
// of our two error types. A job that was read is written and read back to the
// same.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "braid/cli/members_file.h"
#include "braid/cli/settings.h"
#include "braid/models/models.h"
#include "braid/train/job/job_file.h"
#include "braid/train/job/job_list.h"
#include "braid/train/job/job_names.h"
#include "braid/train/job/job_plan.h"

namespace {

using namespace braid;

// A file in memory whose content is replaced again and again.
class ScratchFile {
 public:
  ScratchFile() : file_(memfd_create("yaml", 0)) {
    if (file_ < 0) std::abort();
  }
  ~ScratchFile() { close(file_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  std::filesystem::path hold(const uint8_t* data, size_t size) const {
    if (ftruncate(file_, 0) != 0 ||
        pwrite(file_, data, size, 0) != static_cast<ssize_t>(size)) {
      std::abort();
    }
    return "/proc/self/fd/" + std::to_string(file_);
  }

 private:
  int file_;
};

// Whether `read` took the bytes; anything but our errors ends the program.
template <class Read>
bool is_taken(Read read) {
  try {
    read();
    return true;
  } catch (const std::invalid_argument&) {
  } catch (const std::runtime_error&) {
  }
  return false;
}

const cli::KnownValues& known_values() {
  static const OpTable ops = standard_ops();
  static const cli::KnownValues known(
      passes::make_optimizer("adamw"),
      models::build_model(ops, "mlp(dropout=0.1)", DType::kFloat32));
  return known;
}

void read_members(const std::filesystem::path& path) {
  for (const cli::MemberEntry& member : cli::read_members(path, 7)) {
    if (member.seed < 0) std::abort();
    for (const cli::Setting& setting : member.settings) {
      is_taken([&] { known_values().read(setting, cli::member_keys()); });
    }
  }
}

void read_plan(const std::filesystem::path& path) {
  plan::NamedPlan named = train::read_plan_file(path);
  plan::Plan plan = plan::resolve(named, {"stem", "blocks.0", "head"}).filled();
  if (plan.segments.size() != 3 || plan.depth < 0 || plan.depth > 64) {
    std::abort();
  }
  for (const plan::Decision& d : plan.segments) {
    if (plan::parse_decision(plan::decision_text(d)) != d) std::abort();
  }
}

void read_job(const std::filesystem::path& path) {
  train::JobConfig job = train::read_job(path);
  job.validate();
  for (bool all_keys : {true, false}) {
    std::string text = train::job_text(job, all_keys);
    if (train::parse_job(text, path) != job) std::abort();
  }
}

// Members have names of their own, and are jobs that can be written.
void read_job_list(const std::filesystem::path& path) {
  train::JobList list = train::read_job_list({path});
  std::set<std::string> names;
  for (const train::NamedJob& job : list.jobs) {
    if (!names.insert(job.name).second) std::abort();
    if (!train::name_problem(job.name).empty()) std::abort();
  }
  if (list.jobs.empty() || list.jobs.size() > train::kMostMembers) std::abort();
  const train::JobConfig& last = list.jobs.back().config;
  if (train::parse_job(train::job_text(last), path) != last) std::abort();
}

// Lines of the text are overrides of a job.
void read_overrides(const uint8_t* data, size_t size) {
  std::istringstream lines(
      std::string(reinterpret_cast<const char*>(data), size));
  std::vector<std::string> overrides;
  for (std::string line; std::getline(lines, line) && overrides.size() < 20;) {
    overrides.push_back(line);
  }
  train::parse_job("model: mlp\ndata: glyphs\nsteps: 1\nphases: [{}]\n",
                   "job.yaml", overrides);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ScratchFile file;
  std::filesystem::path path = file.hold(data, size);
  is_taken([&] { read_members(path); });
  is_taken([&] { read_plan(path); });
  is_taken([&] { read_job(path); });
  is_taken([&] { read_job_list(path); });
  is_taken([&] { read_overrides(data, size); });
  return 0;
}
