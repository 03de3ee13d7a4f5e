// Names of the jobs of a list, which are names of folders.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "braid/train/job/job_config.h"

namespace braid::train {

inline constexpr size_t kMostName = 64;  // characters

// Why a job cannot have this name; empty when it can. Names that are made of
// others may be longer than what people give.
std::string name_problem(const std::string& name, size_t most = kMostName);

// Names that tell the jobs apart by what differs between them:
// "hidden=64,lr=1e-3"; "member-03" for all of them when that is too long or
// does not tell them apart. Names in `given` are kept, empty ones are made; all
// are different.
std::vector<std::string> member_names(const std::vector<JobConfig>& jobs,
                                      const std::vector<std::string>& given);

// The name with characters that no folder should have replaced.
std::string safe_name(std::string_view text);

// Numbers behind names that stand twice or are reserved: "a", "a-2".
void make_different(std::vector<std::string>& names);

// Of each job the keys that are not the same in all of them, with their values;
// sizes of models have keys of their own, as "model.hidden". Keys that a job
// does not have are left out.
std::vector<std::vector<std::pair<std::string, std::string>>> differing_values(
    const std::vector<JobConfig>& jobs);

}  // namespace braid::train
