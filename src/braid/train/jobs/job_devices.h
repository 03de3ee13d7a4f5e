// The devices that the jobs of a list share, and how.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "braid/runtime/machine.h"
#include "braid/train/job/job_list.h"

namespace braid::train {

inline constexpr int kMostAtOnce = 8;

struct JobDevices {
  // Empty: the jobs' own, and all jobs one after the other.
  std::vector<DeviceId> ids = {};
  int64_t memory_limit = kNoLimit;  // bytes of each device, for all jobs there
  int at_once = 0;                  // jobs that take turns there; 0: is chosen
  std::string policy = "lrtf";      // who goes first
  uint64_t seed = 0;                // of the policy `random`
  double quantum_s = 10;  // how long a job trains before it may give way

  bool operator==(const JobDevices&) const = default;
  // Throws std::invalid_argument for what cannot be.
  void validate() const;
  // What a job that takes turns with so many may have of a device.
  int64_t share_bytes(int count) const {
    return memory_limit == kNoLimit ? kNoLimit : memory_limit / count;
  }
};

// "2": so many of a kind; "cpu:0-3", "cpu:0,cpu:2", "cuda:all", and the like.
// CPU devices share the machine's cores evenly. Throws std::invalid_argument
// for devices that there are not, or that stand there twice.
std::vector<DeviceId> parse_devices(const std::string& text, DeviceKind kind,
                                    const runtime::Machine& machine);

// Cores that each of the CPU devices has, 1 at least.
int cores_of_each(const std::vector<DeviceId>& devices);

// Throws where a job lacks what the policy goes by.
void check_policy(const std::vector<NamedJob>& jobs, const JobDevices& devices);

// The jobs as they are trained there: those that leave threads open have the
// cores of a device, and none has more memory than one.
void fit_to_devices(std::vector<NamedJob>& jobs, const JobDevices& devices);

nlohmann::json devices_json(const JobDevices& devices);
// Throws nlohmann::json::exception, or std::invalid_argument.
JobDevices read_devices(const nlohmann::json& json);

}  // namespace braid::train
