// The file behind --profile: what was measured on this machine or another.
#pragma once

#include <string>

#include "braid/plan/profile.h"

namespace braid::cli {

// Empty without a path, and when there is no such file yet.
plan::Profile read_profile(const std::string& path);
void write_profile(const std::string& path, const plan::Profile& profile);

}  // namespace braid::cli
