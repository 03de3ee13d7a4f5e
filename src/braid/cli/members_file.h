// Members files: one YAML map per member of an array.
//
//   - {seed: 1, lr: 1e-3}
//   - {seed: 2, lr: 3e-3, init: a.safetensors, inputs: b.safetensors}
//   - {seed: 3, schedule: cosine(steps=50)}
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "braid/cli/settings.h"
#include "braid/passes/step/schedule.h"

namespace braid::cli {

// What one member says about itself. Empty: as on the command line.
struct MemberEntry {
  int64_t seed = 0;
  std::filesystem::path init = {};
  std::filesystem::path inputs = {};
  std::optional<passes::Schedule> schedule = {};
  std::vector<Setting> settings = {};
};

// Keys that are no settings.
const std::vector<std::string>& member_keys();

// At least one member. Relative paths begin at the file's own folder; a
// member without a seed gets `seed`.
std::vector<MemberEntry> read_members(const std::filesystem::path& path,
                                      int64_t seed);

}  // namespace braid::cli
