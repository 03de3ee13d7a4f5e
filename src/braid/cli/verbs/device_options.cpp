#include "braid/cli/verbs/device_options.h"

#include "braid/base/error.h"
#include "braid/cli/verbs/options.h"
#include "braid/schedule/policy.h"

namespace braid::cli {

std::vector<std::string> DeviceOptions::words_of_one(
    const std::string& verb) const {
  bool has_others = !policy.empty() || !arrays.empty() || at_once || seed ||
                    quantum || devices.find_first_of(",-") != devices.npos ||
                    devices.ends_with(":all");
  if (has_others || (!devices.empty() && devices != "1" &&
                     devices.find_first_not_of("0123456789") == devices.npos)) {
    fail_usage(
        "[{}] a single job trains on one device, and shares it with nobody\n"
        "HINT: --devices cpu:1 --memory-limit 2GiB, or several jobs",
        verb);
  }
  std::vector<std::string> words;
  if (!devices.empty() && devices != "1") words.push_back("device=" + devices);
  if (!memory_limit.empty()) words.push_back("memory_limit=" + memory_limit);
  return words;
}

bool DeviceOptions::is_any() const {
  return !devices.empty() || !memory_limit.empty() || !policy.empty() ||
         !arrays.empty() || at_once || seed || quantum;
}

void declare_device_options(CLI::App& app, DeviceOptions& o) {
  declare_sharing_options(app, o);
  AddOption add(app);
  add("--memory-limit", o.memory_limit, "BYTES",
      "Of each such device, for all jobs there: 2GiB");
}

void declare_sharing_options(CLI::App& app, DeviceOptions& o) {
  AddOption add(app);
  add("--devices", o.devices, "DEVICES",
      "That several jobs share: 4, cpu:0-3, cuda:all");
  add("--policy", o.policy, "NAME", "Which job goes first (lrtf)");
  add.whole("--at-once", o.at_once, "N",
            "Jobs that take turns there (what is fastest)");
  add("--quantum", o.quantum, "SECONDS",
      "Until a job that trains may give way (10)");
  add.whole("--policy-seed", o.seed, "N", "Of the policy random (0)");
  add("--arrays", o.arrays, "on|off", "off: every job by itself (on)")
      ->check(CLI::IsMember({"on", "off"}));
}

std::string policy_words() {
  std::string text = "Policies:\n";
  for (const schedule::PolicyKind& kind : schedule::policies()) {
    text += fmt::format("  {:<12}{}\n", kind.name, kind.words);
  }
  return text;
}

train::JobDevices devices_of(const DeviceOptions& o, const std::string& verb,
                             const std::vector<train::NamedJob>& jobs,
                             const runtime::Machine& machine,
                             const train::JobDevices& before) {
  train::JobDevices devices = before;
  if (!o.devices.empty()) {
    DeviceKind kind = parse_device(jobs[0].config.device).kind;
    devices.ids = train::parse_devices(o.devices, kind, machine);
  }
  bool has_others = !o.memory_limit.empty() || !o.policy.empty() || o.at_once ||
                    o.quantum || o.seed;
  if (devices.ids.empty() && has_others) {
    // One that all jobs take turns on.
    devices.ids = {parse_device(jobs[0].config.device)};
  }
  if (auto limit = read_limit("--memory-limit", o.memory_limit, verb)) {
    devices.memory_limit = *limit;
  }
  if (!o.policy.empty()) devices.policy = o.policy;
  if (o.at_once)
    devices.at_once = static_cast<int>(std::min<int64_t>(*o.at_once, 1 << 20));
  if (o.at_once && *o.at_once == 0) {
    fail_usage("[{}] --at-once: expected 1 or more, got 0", verb);
  }
  if (o.quantum) devices.quantum_s = *o.quantum;
  if (o.seed) devices.seed = static_cast<uint64_t>(*o.seed);
  devices.validate();
  check_policy(jobs, devices);
  return devices;
}

}  // namespace braid::cli
