#include "braid/train/job/job_changes.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "braid/base/error.h"
#include "braid/base/numbers.h"
#include "braid/config/writer.h"
#include "braid/config/yaml_writer.h"
#include "braid/data/sources.h"
#include "braid/train/job/job_file.h"
#include "braid/train/job/job_hooks.h"

namespace braid::train {
namespace {

using Texts = std::map<std::string, std::string>;

// Each is the job's own in an array, or of no account there.
constexpr std::array<std::string_view, 18> kOwnKeys = {
    "steps",
    "epochs",
    "log_every",
    "log_norms.on",
    "log_norms.of",
    "log_system",
    "spill_dir",
    "priority",
    "deadline",
    "eval.every",
    "eval.early_stop.patience",
    "eval.early_stop.min_delta",
    "checkpoint.every",
    "checkpoint.keep",
    "data.on_change",
    "data.allow_nan",
    "eval.data.on_change",
    "eval.data.allow_nan"};

// All members of an array have the same.
constexpr std::array<std::string_view, 5> kCommonKeys = {
    "threads", "device", "memory_limit", "host_limit", "eval.batch_size"};

// Lists of values count as one, other lists item by item.
void add_values(const config::Node& node, const std::string& key,
                Texts& values) {
  bool is_plain = std::ranges::all_of(
      node.items, [](const config::Node& item) { return item.is_value(); });
  if (node.is_value()) values[key] = node.text;
  if (node.is_list() && is_plain && !node.items.empty()) {
    values[key] = config::flow_text(node);
    return;
  }
  for (size_t i = 0; i < node.items.size(); ++i) {
    const config::Node& item = node.items[i];
    std::string name = node.is_map() ? item.key : std::to_string(i);
    add_values(item, key.empty() ? name : key + "." + name, values);
  }
}

std::optional<std::string> find(const Texts& texts, const std::string& key) {
  auto found = texts.find(key);
  if (found == texts.end()) return std::nullopt;
  return found->second;
}

bool are_equal(const std::optional<std::string>& a,
               const std::optional<std::string>& b) {
  if (a == b || !a || !b) return a == b;
  auto x = parse_number(*a), y = parse_number(*b);
  return x && y && *x == *y;
}

std::string shown(const std::optional<std::string>& text) {
  if (!text) return "absent";
  return text->empty() ? "empty" : config::shown_text(*text);
}

// An option of a source that says where files lie.
bool is_place(const std::string& key, const std::string& prefix,
              const DataConfig& data) {
  if (!key.starts_with(prefix) || data.source == kCustom) return false;
  std::string name = key.substr(prefix.size());
  const auto& options = data::find_source(data.source).options;
  return std::ranges::any_of(options, [&](const data::Option& option) {
    return option.name == name && (option.kind == data::Option::Kind::kPath ||
                                   option.kind == data::Option::Kind::kFiles);
  });
}

}  // namespace

std::map<std::string, std::string> job_values(const JobConfig& job) {
  Texts values;
  add_values(config::write_config(job), "", values);
  return values;
}

std::vector<KeyChange> job_changes(const JobConfig& before,
                                   const JobConfig& now) {
  Texts old = job_values(before), present = job_values(now);
  Texts all = old;
  all.insert(present.begin(), present.end());
  std::vector<KeyChange> changes;
  for (const auto& [key, unused] : all) {
    auto then = find(old, key), here = find(present, key);
    if (are_equal(then, here)) continue;
    changes.push_back({key, shown(then), shown(here)});
  }
  return changes;
}

bool may_change_alone(const KeyChange& change) {
  return std::ranges::count(kOwnKeys, change.key) > 0;
}

bool may_change(const KeyChange& change, const JobConfig& job) {
  return may_change_alone(change) ||
         std::ranges::count(kCommonKeys, change.key) > 0 ||
         change.key.starts_with("plan.") ||
         is_place(change.key, "data.", job.data) ||
         (job.eval.data && is_place(change.key, "eval.data.", *job.eval.data));
}

std::string change_text(const KeyChange& change) {
  return fmt::format("{} is {}, was {}", change.key, change.now, change.before);
}

JobConfig recorded_job(const std::string& text) {
  return parse_job(text, "/config.yaml");
}

}  // namespace braid::train
