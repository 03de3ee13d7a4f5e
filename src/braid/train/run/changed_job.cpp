#include "braid/train/run/changed_job.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "braid/base/error.h"
#include "braid/train/job/job_changes.h"
#include "braid/train/job/job_data.h"
#include "braid/train/job/job_file.h"
#include "braid/train/run/run_files.h"

namespace braid::train {
namespace {

// It would change nothing.
void check_length(const JobConfig& job,
                  const std::vector<std::string>& overrides) {
  bool sets_epochs = std::ranges::any_of(overrides, [](const std::string& o) {
    return o.starts_with("epochs=") && o.size() > 7;
  });
  if (!sets_epochs || !job.steps) return;
  fail_usage(
      "[resume] the job has steps: {}, which count over epochs\n"
      "HINT: 'steps= epochs={}' takes them back, or set steps",
      *job.steps, *job.epochs);
}

}  // namespace

JobConfig changed_job(const JobConfig& job, const std::filesystem::path& out,
                      const std::vector<std::string>& overrides,
                      bool in_array) {
  JobConfig changed = parse_job(job_text(job), config_path(out), overrides);
  resolve_data_paths(changed);
  check_length(changed, overrides);
  std::vector<std::string> refused;
  for (const KeyChange& change : job_changes(job, changed)) {
    bool may =
        in_array ? may_change_alone(change) : may_change(change, changed);
    if (!may) refused.push_back(change_text(change));
  }
  if (refused.empty()) return changed;
  fail_usage(
      "[resume] '{}' cannot go on with other values of these keys:\n  {}\n"
      "HINT: a new run can begin with its weights:\n"
      "  braid train {} {} init.run={} --out NEW",
      out.string(), fmt::join(refused, "\n  "), config_path(out).string(),
      fmt::join(overrides, " "), out.string());
}

}  // namespace braid::train
