// The members of a job file as jobs with names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "braid/config/node.h"
#include "braid/config/report.h"
#include "braid/train/job/job_list.h"

namespace braid::train {

// `root` is the file without its members, and has no place. Problems go to the
// report, one that several members have once; then what is returned is of no
// use.
std::vector<NamedJob> read_members(const config::Node& root,
                                   const config::Node& members,
                                   const std::filesystem::path& path,
                                   const std::vector<std::string>& overrides,
                                   config::Report& report);

}  // namespace braid::train
