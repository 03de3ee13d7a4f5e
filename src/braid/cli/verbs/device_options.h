// Options of devices that several jobs share, for train, resume and plan.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "braid/train/jobs/job_devices.h"

namespace braid::cli {

struct DeviceOptions {
  std::string devices;  // empty: the jobs' own
  std::string memory_limit, policy, arrays;
  std::optional<int64_t> at_once, seed;
  std::optional<double> quantum;

  bool is_any() const;
  // What they say to a single job, as values of it. Throws for what only
  // several have.
  std::vector<std::string> words_of_one(const std::string& verb) const;
  bool has_arrays() const { return arrays != "off"; }
};

void declare_device_options(CLI::App& app, DeviceOptions& options);
// The same without --memory-limit.
void declare_sharing_options(CLI::App& app, DeviceOptions& options);

// The table of policies, for --help.
std::string policy_words();

// What they say over `before`, which is that of a folder. Where devices are a
// number, they are of the kind that the first job has. `verb` begins errors.
train::JobDevices devices_of(const DeviceOptions& options,
                             const std::string& verb,
                             const std::vector<train::NamedJob>& jobs,
                             const runtime::Machine& machine,
                             const train::JobDevices& before = {});

}  // namespace braid::cli
