#include "braid/plan/profile.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/base/text.h"

namespace braid::plan {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 2;

struct Section {
  Measured what;
  const char* name;
};

constexpr Section kSections[] = {{Measured::kArray, "arrays"},
                                 {Measured::kLowering, "lowerings"},
                                 {Measured::kCall, "calls"},
                                 {Measured::kOperator, "operators"},
                                 {Measured::kWorkspace, "workspaces"}};

const char* section_name(Measured what) {
  for (const Section& section : kSections) {
    if (section.what == what) return section.name;
  }
  fail_defect("[profile] a section without a name");
}

// Other values have items without keys.
void check_object(const Json& json) {
  if (!json.is_object()) fail_world("[profile] expected keys with values");
}

void check_number(std::string_view key, double number) {
  if (std::isfinite(number) && number >= 0) return;
  fail_world("[profile] expected a number from 0 for '{}', got {}", key,
             number);
}

// One row for each number of a device: its key and where it is.
template <class Device, class Visit>
void visit_numbers(Device& d, Visit visit) {
  auto& r = d.rates;
  visit("flops_per_s", r.flops_per_s);
  visit("bytes_per_s", r.bytes_per_s);
  visit("to_device_bytes_per_s", r.to_device_bytes_per_s);
  visit("to_host_bytes_per_s", r.to_host_bytes_per_s);
  visit("disk_read_bytes_per_s", r.disk_read_bytes_per_s);
  visit("disk_write_bytes_per_s", r.disk_write_bytes_per_s);
  visit("call_s", r.call_s);
  visit("copy_s", r.copy_s);
  visit("compute_lost_to_copies", r.compute_lost_to_copies);
}

template <class Device, class Visit>
void visit_facts(Device& d, Visit visit) {
  visit("one_bus", d.rates.one_bus);
  visit("shares_cores", d.shares_cores);
  visit("has_fusion", d.has_fusion);
  visit("mixes_types", d.mixes_types);
  visit("wants_channels_last", d.wants_channels_last);
  visit("groups_updates", d.groups_updates);
  visit("narrow_gradients", d.narrow_gradients);
  visit("has_epilogues", d.has_epilogues);
  visit("has_lowerings", d.has_lowerings);
}

template <class Device, class Visit>
void visit_sizes(Device& d, Visit visit) {
  visit("bytes", d.bytes);
  visit("alignment", d.alignment);
}

Json json_of(const DeviceInfo& device) {
  Json json{{"cores", device.cores}};
  auto put = [&](const char* key, const auto& value) { json[key] = value; };
  visit_numbers(device, put);
  visit_facts(device, put);
  visit_sizes(device, put);
  return json;
}

DeviceKind kind_of(const std::string& name) {
  for (DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kCuda}) {
    if (name == kind_name(kind)) return kind;
  }
  fail_world("[profile] unknown kind of device '{}'", name);
}

DeviceInfo device_of(const std::string& kind, const Json& json) {
  // Facts that older files lack are those of any device of the kind.
  DeviceKind of_kind = kind_of(kind);
  DeviceInfo device =
      of_kind == DeviceKind::kCuda ? cuda_device(0, kNoLimit) : cpu_device(1);
  device.links.clear();
  size_t known = 1;
  device.cores = json.at("cores").get<int>();
  visit_numbers(device, [&](const char* key, double& value) {
    ++known;
    check_number(key, value = json.at(key).get<double>());
    bool divides = std::string_view(key).ends_with("per_s");
    if (divides && value == 0) fail_world("[profile] '{}' is 0", key);
  });
  visit_facts(device, [&](const char* key, bool& value) {
    if (!json.contains(key)) return;
    ++known;
    value = json.at(key).get<bool>();
  });
  visit_sizes(device, [&](const char* key, int64_t& value) {
    ++known;
    value = json.at(key).get<int64_t>();
    if (value <= 0) fail_world("[profile] '{}' is {}", key, value);
  });
  if (json.size() != known) fail_world("[profile] unknown keys of '{}'", kind);
  return device;
}

// Sections of numbers by their name.
const Section* find_section(const std::string& name) {
  const auto* at = std::ranges::find(kSections, name, [](const Section& s) {
    return std::string_view(s.name);
  });
  return at == std::end(kSections) ? nullptr : at;
}

// Of the first form, in which keys told arrays from lowerings.
void read_first_form(const Json& json, Profile& profile) {
  const Json& seconds = json.at("seconds");
  check_object(seconds);
  for (const auto& [key, value] : seconds.items()) {
    bool is_array = key.starts_with("array step ");
    profile.set(is_array ? Measured::kArray : Measured::kLowering, key,
                value.get<double>());
  }
}

void read_section(const std::string& name, const Json& json, Profile& profile) {
  check_object(json);
  if (name == "devices") {
    for (const auto& [kind, facts] : json.items()) {
      profile.set_device(device_of(kind, facts));
    }
    return;
  }
  const Section* section = find_section(name);
  if (!section) fail_world("[profile] unknown section '{}'", name);
  for (const auto& [key, value] : json.items()) {
    profile.set(section->what, key, value.get<double>());
  }
}

Profile read(const Json& json) {
  Profile profile;
  if (!json.contains("version")) {
    read_first_form(json, profile);
    return profile;
  }
  int version = json.at("version").get<int>();
  if (version != kVersion) {
    fail_world(
        "[profile] is of form {}, this program reads {}\n"
        "HINT: a newer one wrote it; delete it and it is made anew",
        version, kVersion);
  }
  for (const auto& [name, part] : json.items()) {
    if (name != "version") read_section(name, part, profile);
  }
  return profile;
}

}  // namespace

std::optional<double> Profile::find(Measured what, std::string_view key) const {
  auto section = numbers_.find(what);
  if (section == numbers_.end()) return std::nullopt;
  auto found = section->second.find(key);
  if (found == section->second.end()) return std::nullopt;
  return found->second;
}

void Profile::set(Measured what, std::string key, double number) {
  check_number(key, number);
  numbers_[what].insert_or_assign(std::move(key), number);
}

const DeviceInfo* Profile::device(DeviceKind kind) const {
  auto found = devices_.find(kind);
  return found == devices_.end() ? nullptr : &found->second;
}

void Profile::set_device(const DeviceInfo& device) {
  DeviceInfo& kept = devices_[device.id.kind] = device;
  kept.id.index = 0;
  kept.links.clear();  // they follow from the rates
}

size_t Profile::size(Measured what) const {
  auto section = numbers_.find(what);
  return section == numbers_.end() ? 0 : section->second.size();
}

void Profile::add(const Profile& other) {
  for (const auto& [what, numbers] : other.numbers_) {
    for (const auto& [key, number] : numbers) {
      numbers_[what].insert_or_assign(key, number);
    }
  }
  for (const auto& [kind, device] : other.devices_) devices_[kind] = device;
}

std::string Profile::text() const {
  Json json{{"version", kVersion}};
  for (const auto& [what, numbers] : numbers_) {
    json[section_name(what)] = numbers;
  }
  for (const auto& [kind, device] : devices_) {
    json["devices"][kind_name(kind)] = json_of(device);
  }
  return json.dump(1) + "\n";
}

Profile Profile::parse(const std::string& text) {
  try {
    return read(Json::parse(text));
  } catch (const Json::exception&) {
    fail_world(
        "[profile] cannot be read: it is not of the form that is written\n"
        "HINT: delete the file; it is made anew");
  }
}

}  // namespace braid::plan
