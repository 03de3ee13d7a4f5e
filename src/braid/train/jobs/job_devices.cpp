#include "braid/train/jobs/job_devices.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "braid/base/error.h"
#include "braid/base/numbers.h"
#include "braid/base/printable.h"
#include "braid/schedule/policy.h"

namespace braid::train {
namespace {

constexpr int kMostDevices = 256;

[[noreturn]] void fail_devices(const std::string& text) {
  fail_usage(
      "[devices] '{}' names no devices\n"
      "HINT: write a number, or names: 4, cpu:0-3, cpu:0,cpu:2, cuda:all",
      printable(text));
}

int read_number(std::string_view digits, const std::string& text) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  bool is_number = !digits.empty() && digits.size() <= 3 &&
                   std::ranges::all_of(digits, is_digit);
  if (!is_number) fail_devices(text);
  return std::stoi(std::string(digits));
}

int count_of(DeviceKind kind, const runtime::Machine& machine) {
  auto all = machine.devices();
  return static_cast<int>(std::ranges::count_if(
      all, [&](const plan::DeviceInfo& d) { return d.id.kind == kind; }));
}

// Any number of CPU devices can be made.
void check_there(DeviceId id, const runtime::Machine& machine) {
  int most =
      id.kind == DeviceKind::kCpu ? kMostDevices : count_of(id.kind, machine);
  if (id.index < most) return;
  if (most == 0) {
    fail_usage("[devices] there is no '{}': this machine has no {} device",
               device_text(id), kind_name(id.kind));
  }
  fail_usage("[devices] there is no '{}', the last one is '{}'",
             device_text(id), device_text({id.kind, most - 1}));
}

// "cpu:1", "cpu:0-3" or "cuda:all".
void add_part(const std::string& part, const std::string& text,
              const runtime::Machine& machine, std::vector<DeviceId>& to) {
  size_t colon = part.find(':');
  std::string_view kind_part = std::string_view(part).substr(0, colon);
  bool is_cpu = kind_part == kind_name(DeviceKind::kCpu);
  if (!is_cpu && kind_part != kind_name(DeviceKind::kCuda)) fail_devices(text);
  DeviceKind kind = is_cpu ? DeviceKind::kCpu : DeviceKind::kCuda;
  int first = 0, last = 0;
  if (colon != part.npos) {
    std::string_view numbers = std::string_view(part).substr(colon + 1);
    size_t dash = numbers.find('-');
    if (numbers == "all") {
      last = std::max(count_of(kind, machine) - 1, 0);
    } else {
      first = last = read_number(numbers.substr(0, dash), text);
      if (dash != numbers.npos)
        last = read_number(numbers.substr(dash + 1), text);
    }
  }
  if (last < first) fail_devices(text);
  for (int i = first; i <= last; ++i) {
    check_there({kind, i}, machine);
    to.push_back({kind, i});
  }
}

}  // namespace

void JobDevices::validate() const {
  schedule::make_policy(policy);
  if (at_once < 0 || at_once > kMostAtOnce) {
    fail_usage("[devices] expected 1 to {} jobs at once, got {}", kMostAtOnce,
               at_once);
  }
  if (quantum_s < 0 || !(quantum_s <= 1e9)) {
    fail_usage("[devices] expected a quantum of 0 or more seconds, got {}",
               quantum_s);
  }
  if (memory_limit < 1) {
    fail_usage("[devices] expected a memory limit of 1 byte or more");
  }
  bool has_gpu = std::ranges::any_of(
      ids, [](DeviceId id) { return id.kind == DeviceKind::kCuda; });
  if (has_gpu && at_once > 1) {
    fail_usage("[devices] jobs take turns on CPU devices only, so far");
  }
}

std::vector<DeviceId> parse_devices(const std::string& text, DeviceKind kind,
                                    const runtime::Machine& machine) {
  std::vector<DeviceId> devices;
  bool is_number = !text.empty() &&
                   text.find_first_not_of("0123456789") == std::string::npos;
  if (is_number) {
    int count = read_number(text, text);
    if (count == 0 || count > kMostDevices) fail_devices(text);
    for (int i = 0; i < count; ++i) {
      check_there({kind, i}, machine);
      devices.push_back({kind, i});
    }
    return devices;
  }
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    add_part(text.substr(at, end - at), text, machine, devices);
    at = end + 1;
  }
  std::set<DeviceId> seen;
  for (DeviceId id : devices) {
    if (seen.insert(id).second) continue;
    fail_usage("[devices] '{}' stands there twice", device_text(id));
  }
  if (devices.size() > kMostDevices) fail_devices(text);
  return devices;
}

int cores_of_each(const std::vector<DeviceId>& devices) {
  auto count = std::ranges::count(devices, DeviceKind::kCpu, &DeviceId::kind);
  return std::max(machine_cores() / std::max(static_cast<int>(count), 1), 1);
}

void check_policy(const std::vector<NamedJob>& jobs,
                  const JobDevices& devices) {
  std::vector<schedule::Job> facts;
  for (const NamedJob& job : jobs) {
    facts.push_back({.name = job.name, .priority = job.config.priority});
    if (job.config.deadline) {
      facts.back().deadline_ns =
          static_cast<int64_t>(std::min(*job.config.deadline * 1e9, 9e18));
    }
  }
  schedule::make_policy(devices.policy, devices.seed)->check(facts);
}

void fit_to_devices(std::vector<NamedJob>& jobs, const JobDevices& devices) {
  if (devices.ids.empty()) return;
  for (NamedJob& job : jobs) {
    if (job.config.threads == 0) {
      job.config.threads = cores_of_each(devices.ids);
    }
    if (devices.memory_limit == kNoLimit) continue;
    job.config.memory_limit = std::min(
        job.config.memory_limit.value_or(kNoLimit), devices.memory_limit);
  }
}

nlohmann::json devices_json(const JobDevices& devices) {
  nlohmann::json ids = nlohmann::json::array();
  for (DeviceId id : devices.ids) ids.push_back(device_text(id));
  nlohmann::json json{{"devices", ids},
                      {"at_once", devices.at_once},
                      {"policy", devices.policy},
                      {"seed", devices.seed},
                      {"quantum_s", devices.quantum_s}};
  if (devices.memory_limit != kNoLimit) {
    json["memory_limit"] = devices.memory_limit;
  }
  return json;
}

JobDevices read_devices(const nlohmann::json& json) {
  JobDevices devices{.ids = {},
                     .memory_limit = json.value("memory_limit", kNoLimit),
                     .at_once = json.at("at_once"),
                     .policy = json.at("policy"),
                     .seed = json.at("seed"),
                     .quantum_s = json.at("quantum_s")};
  for (const nlohmann::json& id : json.at("devices")) {
    devices.ids.push_back(parse_device(id.get<std::string>()));
  }
  devices.validate();
  return devices;
}

}  // namespace braid::train
