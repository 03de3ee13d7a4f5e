#include "braid/io/checkpoint/checkpoint.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "braid/base/error.h"
#include "braid/io/checkpoint/checkpoint_marker.h"
#include "braid/io/file/file.h"

namespace braid::io {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kTemporaryPrefix = ".tmp-step-";
constexpr std::string_view kTrashPrefix = ".trash-step-";
constexpr std::string_view kMetaName = "meta.json";
constexpr int kMostRounds = 100;  // of looking for the newest

[[noreturn]] void fail_at(std::string_view what, const fs::path& path,
                          std::error_code error) {
  fail_file("checkpoint", what, path, error.value());
}

bool is_missing(std::error_code error) {
  return error.value() == ENOENT || error.value() == ENOTDIR;
}

// A number as we write it: digits only, no leading zero.
template <class Int>
std::optional<Int> parse_number(std::string_view text) {
  Int number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  if (fmt::format("{}", number) != text || number < 0) return std::nullopt;
  return number;
}

std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  return parse_number<int64_t>(name.substr(kStepPrefix.size()));
}

// The process of ".tmp-step-N-PID".
std::optional<pid_t> owner_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  size_t dash = name.find('-');
  if (dash == name.npos || !parse_number<int64_t>(name.substr(0, dash))) {
    return std::nullopt;
  }
  return parse_number<pid_t>(name.substr(dash + 1));
}

bool is_alive(pid_t process) {
  return process > 0 && (::kill(process, 0) == 0 || errno == EPERM);
}

bool is_litter(std::string_view name) {
  if (owner_of(name, kTrashPrefix)) return true;
  std::optional<pid_t> owner = owner_of(name, kTemporaryPrefix);
  return owner && (*owner == ::getpid() || !is_alive(*owner));
}

fs::path step_path(const fs::path& root, int64_t step) {
  return root / fmt::format("{}{}", kStepPrefix, step);
}

fs::path own_path(const fs::path& root, std::string_view prefix, int64_t step) {
  return root / fmt::format("{}{}-{}", prefix, step, ::getpid());
}

std::string file_name(std::string_view name) {
  return fmt::format("{}.safetensors", name);
}

// The names in a directory; none when it does not exist.
std::vector<std::string> list_names(const fs::path& root) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(root, error), end;
  while (!error && entry != end) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  if (error && error.value() != ENOENT) fail_at("cannot list", root, error);
  return names;
}

std::vector<int64_t> list_steps_newest_first(const fs::path& root) {
  std::vector<int64_t> steps;
  for (const std::string& name : list_names(root)) {
    if (std::optional<int64_t> step = step_of(name)) steps.push_back(*step);
  }
  std::ranges::sort(steps, std::greater());
  return steps;
}

void make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directory(path, error);
  if (error) fail_at("cannot create directory", path, error);
}

void rename_path(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) fail_at("cannot rename to", to, error);
}

void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error && !is_missing(error)) fail_at("cannot delete", path, error);
}

bool path_exists(const fs::path& path) {
  std::error_code error;
  fs::file_status status = fs::symlink_status(path, error);
  if (error && !is_missing(error)) fail_at("cannot read", path, error);
  return fs::exists(status);
}

// As damage_of(), also when something there cannot be opened at all: a link
// that leads nowhere, a folder without permission.
std::string problem_of(const fs::path& directory) {
  try {
    return damage_of(directory);
  } catch (const std::runtime_error& error) {
    std::string text = error.what();
    return text.substr(0, text.find('\n'));
  }
}

bool is_complete(const fs::path& directory) {
  return problem_of(directory).empty();
}

// Out of sight in one step, then gone.
void discard_step(const fs::path& root, int64_t step) {
  fs::path trash = own_path(root, kTrashPrefix, step);
  remove_tree(trash);
  rename_path(step_path(root, step), trash);
  remove_tree(trash);
}

// A directory that disappears unless it was moved to its place.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(fs::path path) : path_(std::move(path)) {
    remove_tree(path_);
    make_directory(path_);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!moved_) fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }

  void move_to(const fs::path& place) {
    rename_path(path_, place);
    moved_ = true;
  }

 private:
  fs::path path_;
  bool moved_ = false;
};

void check_names(int64_t step, const std::vector<CheckpointFile>& files) {
  if (step < 0) fail_usage("[checkpoint.save] step {} is negative", step);
  std::set<std::string_view> names;
  for (const CheckpointFile& file : files) {
    if (file.name.empty() ||
        file.name.find_first_of("/\0", 0, 2) != std::string::npos) {
      fail_usage("[checkpoint.save] '{}' is not a file name", file.name);
    }
    if (!names.insert(file.name).second) {
      fail_usage("[checkpoint.save] two files are named '{}'", file.name);
    }
  }
}

void create_root(const fs::path& root) {
  std::error_code ignored;  // creating it tells what is wrong
  if (fs::is_directory(root, ignored)) return;
  make_directory(root);
  sync_directory(root / "..");
}

// Files of checkpoints are never written to again, so that two may be one.
FileSum link_file(const fs::path& from, const fs::path& to) {
  FileSum sum = marked_sum(from);
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (!error) return sum;
  MappedFile file(from);  // another disk, or one without links
  Bytes piece = file.bytes();
  write_file_atomically(to, std::span(&piece, 1));
  return sum;
}

FileSum write_one(const fs::path& path, const CheckpointFile& file) {
  return file.same_as.empty() ? write_safetensors(path, file.tensors)
                              : link_file(file.same_as, path);
}

void fill_directory(const fs::path& directory,
                    const std::vector<CheckpointFile>& files,
                    const std::string& meta) {
  std::vector<MarkedFile> written;
  for (const CheckpointFile& file : files) {
    std::string name = file_name(file.name);
    FileSum sum = write_one(directory / name, file);
    written.push_back({name, sum});
  }
  FileSum sum = write_file_atomically(directory / kMetaName, meta);
  written.push_back({std::string(kMetaName), sum});
  write_marker(directory, written);
}

// One look at the root; nothing when a step vanished during it, unless this
// is the last look.
std::optional<NewestCheckpoint> try_newest(const fs::path& root, bool is_last) {
  NewestCheckpoint result;
  for (int64_t step : list_steps_newest_first(root)) {
    fs::path path = step_path(root, step);
    std::string damage = problem_of(path);
    if (damage.empty()) {
      result.checkpoint = {step, path};
      break;
    }
    if (!path_exists(path) && !is_last) return std::nullopt;
    result.warnings.push_back(
        fmt::format("[checkpoint] '{}' is damaged and not used: {}",
                    path.string(), damage));
  }
  return result;
}

}  // namespace

fs::path CheckpointDir::file(std::string_view name) const {
  return path / file_name(name);
}

SafetensorsFile CheckpointDir::open(std::string_view name) const {
  return SafetensorsFile::open(file(name));
}

Json CheckpointDir::meta() const {
  MappedFile file(path / kMetaName);
  Json meta = parse_json(file.bytes());
  if (meta.is_discarded()) {
    fail_world("[checkpoint] '{}' is not valid JSON",
               (path / kMetaName).string());
  }
  return meta;
}

void save_checkpoint(const fs::path& root, int64_t step,
                     const std::vector<CheckpointFile>& files,
                     const Json& meta) {
  check_names(step, files);
  std::string meta_json = json_text(meta);
  fs::path place = step_path(root, step);
  if (is_complete(place)) return sync_directory(root);
  create_root(root);
  TemporaryDirectory directory(own_path(root, kTemporaryPrefix, step));
  fill_directory(directory.path(), files, meta_json);
  if (path_exists(place)) discard_step(root, step);
  directory.move_to(place);
  sync_directory(root);
}

NewestCheckpoint newest_complete(const fs::path& root) {
  // Each round finds newer steps than the last: a process that writes them
  // deletes old ones. It could go on for ever only if every reading took
  // longer than a step.
  for (int round = 0;; ++round) {
    bool is_last = round == kMostRounds;
    if (auto found = try_newest(root, is_last)) return *found;
  }
}

std::optional<CheckpointDir> find_complete(const fs::path& root, int64_t step) {
  fs::path path = step_path(root, step);
  if (!is_complete(path)) return std::nullopt;
  return CheckpointDir{step, path};
}

bool holds_checkpoints(const fs::path& root) {
  return !list_steps_newest_first(root).empty();
}

CheckpointDir find_step(const fs::path& root, int64_t step) {
  return {step, step_path(root, step)};
}

void remove_litter(const fs::path& root) {
  for (const std::string& name : list_names(root)) {
    if (is_litter(name)) remove_tree(root / name);
  }
}

void keep_last(const fs::path& root, int64_t count,
               const std::vector<int64_t>& best,
               std::span<const int64_t> trusted) {
  if (count < 1) {
    fail_usage("[checkpoint.keep_last] cannot keep {} checkpoints", count);
  }
  std::vector<int64_t> old_steps;
  for (int64_t step : list_steps_newest_first(root)) {
    if (count == 0) {
      if (std::ranges::count(best, step) == 0) old_steps.push_back(step);
    } else if (std::ranges::count(trusted, step) > 0 ||
               is_complete(step_path(root, step))) {
      --count;
    }
  }
  std::ranges::reverse(old_steps);
  for (int64_t step : old_steps) discard_step(root, step);
}

}  // namespace braid::io
