#include "braid/train/job/job_file.h"

#include "braid/config/overrides.h"
#include "braid/config/reader.h"
#include "braid/config/value_types.h"
#include "braid/config/writer.h"
#include "braid/config/yaml_reader.h"
#include "braid/config/yaml_writer.h"
#include "braid/io/file/file.h"
#include "braid/train/job/job_keys.h"

namespace braid::train {
namespace {

namespace fs = std::filesystem;

bool is_wrong(const config::Node& root, const std::string& key,
              const config::Report& report) {
  config::Place place = config::place_of(root, key);
  return place != root.place && report.has(place);
}

// What is wrong already is not said again in other words.
void add_problems(const JobConfig& job, const config::Node& root,
                  config::Report& report) {
  for (const KeyProblem& p : problems_of(job)) {
    if (is_wrong(root, p.key, report)) continue;
    // A length that cannot be read is not missing.
    if (p.key == "steps" && is_wrong(root, "epochs", report)) continue;
    report.add(config::place_of(root, p.key), p.problem);
  }
}

// Options that no file gave have no folder.
fs::path absolute_path(const std::string& text, const fs::path& folder) {
  if (text.empty()) return {};
  return fs::absolute(folder / text).lexically_normal();
}

// "x=images.npy" -> "x=/data/images.npy"
std::string absolute_file(const std::string& text, const fs::path& folder) {
  size_t begin = text.find('=') + 1;  // 0 when there is none
  return text.substr(0, begin) +
         absolute_path(text.substr(begin), folder).string();
}

std::string absolute_files(const std::string& text, const fs::path& folder) {
  config::Node node = config::option_node(text);
  if (!node.is_list()) return absolute_file(text, folder);
  for (config::Node& item : node.items) {
    item = config::make_value(absolute_file(item.text, folder));
  }
  return config::flow_text(node);
}

void resolve_paths(DataConfig& data, const PathKindOf& kind_of) {
  for (config::Option& option : data.options) {
    switch (kind_of(data.source, option.name)) {
      case PathKind::kNone: break;
      case PathKind::kPath:
        option.text = absolute_path(option.text, option.folder).string();
        break;
      case PathKind::kFiles:
        option.text = absolute_files(option.text, option.folder);
        break;
    }
  }
}

// Lists of jobs are for those who read one, see job_list.h.
void refuse_lists(config::Node& root, config::Report& report) {
  for (std::string key : {"members", "grid", "zip"}) {
    const config::Node* found = root.find(key);
    if (!found) continue;
    report.add(
        found->place,
        {fmt::format("{} several jobs, and one is expected here",
                     key == "members" ? "members make" : key + " makes")});
    std::erase_if(root.items,
                  [&](const config::Node& item) { return item.key == key; });
  }
}

}  // namespace

JobConfig job_of(config::Node root, const fs::path& path,
                 const std::vector<std::string>& overrides,
                 config::Report& report) {
  config::apply_overrides(root, overrides, report);
  refuse_lists(root, report);
  JobConfig job;
  read_config(root, job, {fs::absolute(path).parent_path(), fs::current_path()},
              report, find_job_key);
  add_problems(job, root, report);
  return job;
}

JobConfig parse_job(std::string_view text, const fs::path& path,
                    const std::vector<std::string>& overrides) {
  config::Report report("job", path.string());
  config::Node root = config::parse_yaml(text, report);
  if (root.is_null()) report.throw_if_any();  // nothing more can be said
  root.place = {};
  JobConfig job = job_of(std::move(root), path, overrides, report);
  report.throw_if_any();
  return job;
}

JobConfig read_job(const fs::path& path,
                   const std::vector<std::string>& overrides) {
  io::MappedFile file(path);
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                        file.bytes().size());
  return parse_job(text, path, overrides);
}

std::string job_text(const JobConfig& job, bool all_keys) {
  config::Node node = config::write_config(job);
  if (!all_keys) {
    node = without_defaults(std::move(node), config::write_config(JobConfig{}));
  }
  return config::yaml_text(node);
}

void write_job(const fs::path& path, const JobConfig& job) {
  io::write_file_atomically(path, job_text(job));
}

void resolve_paths(JobConfig& job, const PathKindOf& kind_of) {
  resolve_paths(job.data, kind_of);
  if (job.eval.data) resolve_paths(*job.eval.data, kind_of);
}

}  // namespace braid::train
