#include "braid/train/job/member_reader.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/config/overrides.h"
#include "braid/train/job/job_file.h"
#include "braid/train/job/job_names.h"

namespace braid::train {
namespace {

namespace fs = std::filesystem;

using config::Node;
using config::Report;
using Texts = std::vector<std::string>;

// Values that all members together may have: each has those of the file.
constexpr size_t kMostValues = 4'000'000;

size_t num_values(const Node& node) {
  size_t count = 1;
  for (const Node& item : node.items) count += num_values(item);
  return count;
}

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
  MemberReader(const Node& root, const Node& members, const fs::path& path,
               const Texts& overrides, Report& report)
      : root_(root),
        members_(members),
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
    if (count < 1 || count > kMostMembers) {
      report_.add(members_.place,
                  {fmt::format("members has 1 to {} items, got {}",
                               kMostMembers, count)});
      return false;
    }
    if (count * num_values(root_) <= kMostValues) return true;
    report_.add(members_.place,
                {fmt::format("{} members of a file with {} values are too many",
                             count, num_values(root_))});
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

  const Node& root_;
  const Node& members_;
  const fs::path& path_;
  const Texts& overrides_;
  Report& report_;
  Texts given_;
};

}  // namespace

std::vector<NamedJob> read_members(const Node& root, const Node& members,
                                   const fs::path& path, const Texts& overrides,
                                   Report& report) {
  return MemberReader(root, members, path, overrides, report).run();
}

}  // namespace braid::train
