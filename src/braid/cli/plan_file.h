// Plan files: what is done about the memory of each segment, by hand.
//
//   depth: 1
//   segments:
//     default: keep
//     blocks.0: recompute,spilled,host
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "braid/plan/plan.h"

namespace braid::cli {

// Segments that the file does not name are as `default` says, else kept.
plan::Plan read_plan(const std::filesystem::path& path,
                     const std::vector<std::string>& segments);

}  // namespace braid::cli
