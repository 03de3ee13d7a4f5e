#include "braid/train/job_list.h"

#include <algorithm>

#include "braid/base/config/overrides.h"
#include "braid/base/config/yaml_reader.h"
#include "braid/base/error.h"
#include "braid/io/file.h"
#include "braid/train/job_file.h"
#include "braid/train/job_names.h"

namespace braid::train {
namespace {

namespace fs = std::filesystem;

using config::Node;
using config::Report;
using Texts = std::vector<std::string>;

constexpr const char* kMembers = "members";

// Problems of members: one that several have is said once.
class MemberProblems {
 public:
  explicit MemberProblems(size_t members) : members_(members) {}

  void add(const std::string& member, const Report& report) {
    for (const Report::Entry& entry : report.entries()) {
      auto same = std::ranges::find_if(found_, [&](const Found& found) {
        return found.entry.place == entry.place &&
               found.entry.problem.text == entry.problem.text;
      });
      if (same == found_.end()) same = found_.insert(same, {entry, member});
      ++same->count;
    }
  }

  void move_to(Report& report) const {
    for (const Found& found : found_) {
      config::Problem problem = found.entry.problem;
      if (found.count < members_) problem.text = who(found) + problem.text;
      report.add(found.entry.place, problem);
    }
  }

 private:
  struct Found {
    Report::Entry entry;
    std::string member;  // the first that has it
    size_t count = 0;
  };

  static std::string who(const Found& found) {
    if (found.count == 1) return found.member + ": ";
    return fmt::format("{} and {} more: ", found.member, found.count - 1);
  }

  size_t members_;
  std::vector<Found> found_;
};

// One file with members.
class MemberReader {
 public:
  MemberReader(Node root, Node members, const fs::path& path,
               const Texts& overrides, Report& report)
      : root_(std::move(root)),
        members_(std::move(members)),
        path_(path),
        overrides_(overrides),
        report_(report) {}

  std::vector<NamedJob> run() {
    if (!check_list()) return {};
    MemberProblems problems(members_.items.size());
    std::vector<JobConfig> configs;
    for (size_t i = 0; i < members_.items.size(); ++i) {
      given_.push_back(given_name(i));
      Report own("job", path_.string());
      configs.push_back(read_member(members_.items[i], own));
      problems.add(member_text(i), own);
    }
    problems.move_to(report_);
    return named(std::move(configs));
  }

 private:
  bool check_list() {
    if (!members_.is_list()) {
      report_.add(members_.place,
                  {"members is a list of maps, got " + config::shown(members_),
                   "write members: [{seed: 1}, {seed: 2}]"});
      return false;
    }
    size_t count = members_.items.size();
    if (count >= 1 && count <= kMostMembers) return true;
    report_.add(members_.place,
                {fmt::format("members has 1 to {} items, got {}", kMostMembers,
                             count)});
    return false;
  }

  std::string member_text(size_t i) const {
    if (given_[i].empty()) return fmt::format("members.{}", i);
    return fmt::format("member '{}'", config::shown_text(given_[i]));
  }

  // Empty when there is none, or none that can be.
  std::string given_name(size_t i) {
    const Node* node = members_.items[i].find("name");
    if (!node) return "";
    std::string key = fmt::format("members.{}.name", i);
    if (!node->is_value()) {
      report_.add(node->place, {key + " is a text, got " + shown(*node)});
      return "";
    }
    std::string text = config::shown_text(node->text);
    std::string problem = name_problem(node->text);
    if (problem.empty() && std::ranges::count(given_, node->text) > 0) {
      problem = "is that of another member";
    }
    if (problem.empty()) return node->text;
    report_.add(node->place,
                {fmt::format("{} '{}' {}", key, text, problem),
                 "it is the name of a folder beside those of the others"});
    return "";
  }

  JobConfig read_member(const Node& member, Report& own) const {
    Node root = root_;
    if (!member.is_map()) {
      own.add(member.place, {"a member is a map of keys, got " + shown(member),
                             "write {optimizer.lr: 3e-3, seed: 2}"});
    }
    for (const Node& item : member.items) {
      if (item.key != "name") set_value(root, item.key, item, own);
    }
    return job_of(std::move(root), path_, overrides_, own);
  }

  std::vector<NamedJob> named(std::vector<JobConfig> configs) const {
    Texts names = member_names(configs, given_);
    std::vector<NamedJob> jobs;
    for (size_t i = 0; i < configs.size(); ++i) {
      jobs.push_back({names[i], std::move(configs[i])});
    }
    return jobs;
  }

  Node root_, members_;
  const fs::path& path_;
  const Texts& overrides_;
  Report& report_;
  Texts given_;
};

std::string stem_of(const fs::path& path) {
  std::string stem = safe_name(path.stem().string());
  stem.erase(0, stem.find_first_not_of(".-"));
  stem.resize(std::min(stem.size(), kMostName));
  return stem.empty() ? "job" : stem;
}

// Those that set the list itself; the others are for each of the jobs.
Texts take_member_overrides(Texts& overrides) {
  Texts taken;
  std::erase_if(overrides, [&](const std::string& text) {
    bool is_list = text.starts_with("members=") || text.starts_with("members.");
    if (is_list) taken.push_back(text);
    return is_list;
  });
  return taken;
}

void apply_member_overrides(Node& root, const Texts& overrides,
                            Report& report) {
  for (const std::string& text : overrides) {
    if (text.starts_with("members=")) {
      config::apply_overrides(root, {text}, report);
    } else {
      report.add({.override_text = text},
                 {"one member cannot be changed from here",
                  "the whole list is set by members=[...]"});
    }
  }
}

Node take_members(Node& root) {
  Node members;
  if (const Node* found = root.find(kMembers)) members = *found;
  if (root.is_map()) {
    std::erase_if(root.items,
                  [](const Node& item) { return item.key == kMembers; });
  }
  return members;
}

JobList parse(std::string_view text, const fs::path& path, Texts overrides) {
  Report report("job", path.string());
  Node root = config::parse_yaml(text, report);
  if (root.is_null()) report.throw_if_any();  // nothing more can be said
  root.place = {};
  apply_member_overrides(root, take_member_overrides(overrides), report);
  Node members = take_members(root);
  JobList list{.jobs = {}, .is_single = members.is_null()};
  if (list.is_single) {
    list.jobs.push_back(
        {stem_of(path), job_of(std::move(root), path, overrides, report)});
  } else {
    list.jobs = MemberReader(std::move(root), std::move(members), path,
                             overrides, report)
                    .run();
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
