// Job files: a JobConfig as YAML.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "braid/train/job_config.h"

namespace braid::train {

// Reads and validates. `overrides` are "optimizer.lr=3e-4", "phases.0.every=2"
// and count over the file. Relative paths of the file begin at its folder,
// those of overrides at the working directory; the result holds absolute ones
// (options of data sources: see resolve_paths()). Throws one
// std::invalid_argument that lists every problem with its line, or
// std::runtime_error when the file cannot be read.
JobConfig read_job(const std::filesystem::path& path,
                   const std::vector<std::string>& overrides = {});

// The same from text; `path` names it in errors and gives the folder.
JobConfig parse_job(std::string_view text, const std::filesystem::path& path,
                    const std::vector<std::string>& overrides = {});

// Replaces or creates the file, with all keys; blocks until it is on the disk.
void write_job(const std::filesystem::path& path, const JobConfig& job);

// All keys, or only those that differ from the defaults.
std::string job_text(const JobConfig& job, bool all_keys = true);

// Makes options of data sources absolute that are relative paths, as the
// sources know them: is_path("cifar10", "folder").
using IsPathOption =
    std::function<bool(const std::string& source, const std::string& option)>;
void resolve_paths(JobConfig& job, const IsPathOption& is_path);

}  // namespace braid::train
