// Job files: a JobConfig as YAML.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "braid/train/job/job_config.h"

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

// The same from a tree, whose root has no place; problems go to the report.
JobConfig job_of(config::Node root, const std::filesystem::path& path,
                 const std::vector<std::string>& overrides,
                 config::Report& report);

// Replaces or creates the file, with all keys; blocks until it is on the disk.
void write_job(const std::filesystem::path& path, const JobConfig& job);

// All keys, or only those that differ from the defaults.
std::string job_text(const JobConfig& job, bool all_keys = true);

// Makes relative paths in the options of data sources absolute, as the sources
// know them: kind_of("cifar10", "folder").
enum class PathKind {
  kNone,
  kPath,   // "data/images"
  kFiles,  // "x=a.npy" or "[x=a.npy, y=b.npy]"
};
using PathKindOf = std::function<PathKind(const std::string& source,
                                          const std::string& option)>;
void resolve_paths(JobConfig& job, const PathKindOf& kind_of);

}  // namespace braid::train
