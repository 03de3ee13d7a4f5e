#include "braid/train/job/job_list.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/config/overrides.h"
#include "braid/config/yaml_reader.h"
#include "braid/io/file/file.h"
#include "braid/train/job/job_file.h"
#include "braid/train/job/job_grid.h"
#include "braid/train/job/job_names.h"
#include "braid/train/job/member_reader.h"

namespace braid::train {
namespace {

namespace fs = std::filesystem;

using config::Node;
using config::Report;
using Texts = std::vector<std::string>;

constexpr const char* kMembers = "members";

std::string stem_of(const fs::path& path) {
  std::string stem = safe_name(path.stem().string());
  stem.erase(0, stem.find_first_not_of(".-"));
  stem.resize(std::min(stem.size(), kMostName));
  return stem.empty() ? "job" : stem;
}

// Whether an override is of that key, or of one within it.
bool is_of(std::string_view text, std::string_view key) {
  return text.starts_with(key) && text.size() > key.size() &&
         (text[key.size()] == '=' || text[key.size()] == '.');
}

// Those that set the list itself; the others are for each of the jobs.
Texts take_member_overrides(Texts& overrides) {
  Texts taken;
  std::erase_if(overrides, [&](const std::string& text) {
    bool is_list = is_of(text, kMembers) ||
                   std::ranges::any_of(kGridKeys, [&](const char* key) {
                     return is_of(text, key);
                   });
    if (is_list) taken.push_back(text);
    return is_list;
  });
  return taken;
}

void apply_member_overrides(Node& root, const Texts& overrides,
                            Report& report) {
  for (const std::string& text : overrides) {
    if (!text.starts_with("members.")) {
      config::apply_overrides(root, {text}, report);
    } else {
      report.add({.override_text = text},
                 {"one member cannot be changed from here",
                  "the whole list is set by members=[...]"});
    }
  }
}

JobList parse(std::string_view text, const fs::path& path, Texts overrides) {
  Report report("job", path.string());
  Node root = config::parse_yaml(text, report);
  if (root.is_null()) report.throw_if_any();  // nothing more can be said
  root.place = {};
  apply_member_overrides(root, take_member_overrides(overrides), report);
  Node members = expand_grids(root, take_key(root, kMembers), report);
  JobList list{.jobs = {}, .is_single = members.is_null()};
  if (list.is_single) {
    list.jobs.push_back(
        {stem_of(path), job_of(std::move(root), path, overrides, report)});
  } else {
    list.jobs = read_members(root, members, path, overrides, report);
  }
  report.throw_if_any();
  return list;
}

JobList read(const fs::path& path, const Texts& overrides) {
  io::MappedFile file(path);
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                        file.bytes().size());
  return parse(text, path, overrides);
}

// Errors of several files as one.
void throw_all(const Texts& errors) {
  if (errors.empty()) return;
  std::string text = errors[0];
  for (size_t i = 1; i < errors.size(); ++i) text += "\n" + errors[i];
  throw std::invalid_argument(text);
}

void add_jobs(JobList& list, JobList more, const std::string& stem) {
  for (NamedJob& job : more.jobs) {
    if (!more.is_single) job.name = stem + "-" + job.name;
    list.jobs.push_back(std::move(job));
  }
}

void finish(JobList& list) {
  if (list.jobs.size() > kMostMembers) {
    fail_usage("[job] expected at most {} jobs, got {}", kMostMembers,
               list.jobs.size());
  }
  Texts names;
  for (const NamedJob& job : list.jobs) names.push_back(job.name);
  make_different(names);
  for (size_t i = 0; i < names.size(); ++i) list.jobs[i].name = names[i];
}

}  // namespace

JobList parse_job_list(std::string_view text, const fs::path& path,
                       const Texts& overrides) {
  JobList list = parse(text, path, overrides);
  finish(list);
  return list;
}

JobList read_job_list(const std::vector<fs::path>& files,
                      const Texts& overrides) {
  if (files.empty()) fail_usage("[job] expected at least one job file, got 0");
  JobList list;
  Texts errors;
  for (const fs::path& path : files) {
    try {
      JobList more = read(path, overrides);
      if (files.size() == 1) {
        list = std::move(more);
      } else {
        add_jobs(list, std::move(more), stem_of(path));
      }
    } catch (const std::invalid_argument& error) {
      errors.emplace_back(error.what());
    }
  }
  throw_all(errors);
  finish(list);
  return list;
}

}  // namespace braid::train
