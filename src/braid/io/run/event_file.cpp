#include "braid/io/run/event_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <system_error>
#include <vector>

#include "braid/base/error.h"
#include "braid/io/run/event.h"
#include "braid/io/run/records.h"

namespace braid::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.";

double wall_time_s() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::vector<fs::path> event_files(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code error;
  fs::directory_iterator entry(directory, error), end;
  while (!error && entry != end) {
    if (entry->path().filename().string().starts_with(kPrefix)) {
      paths.push_back(entry->path());
    }
    entry.increment(error);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    fail_file("events", "cannot list", directory, error.value());
  }
  return paths;
}

int64_t seconds_of(const fs::path& path) {
  std::string digits = path.filename().string().substr(kPrefix.size());
  int64_t seconds = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  return seconds;
}

std::string host_name() {
  std::array<char, 256> name = {};
  ::gethostname(name.data(), name.size() - 1);
  std::string text = name.data();
  std::ranges::replace(text, '/', '-');
  return text.empty() ? "localhost" : text;
}

// Two starts within a second must not share a file, nor change their order.
fs::path new_path(const fs::path& directory) {
  auto seconds = static_cast<int64_t>(wall_time_s());
  for (const fs::path& path : event_files(directory)) {
    seconds = std::max(seconds, seconds_of(path) + 1);
  }
  return directory / fmt::format("{}{:010}.{}", kPrefix, seconds, host_name());
}

void cut_file(const fs::path& path, int64_t step) {
  MappedFile file(path);
  std::vector<Bytes> kept;
  bool has_scalars = false;
  for (const Record& record : read_records(file.bytes())) {
    auto facts = read_event(record.data);
    if (!facts || (!facts->has_version && facts->step > step)) continue;
    kept.push_back(record.whole);
    has_scalars |= facts->has_scalars;
  }
  if (has_scalars) {
    write_file_atomically(path, kept);
  } else if (::unlink(path.c_str()) != 0) {
    fail_file("events", "cannot delete", path, errno);
  }
}

}  // namespace

EventFile::EventFile(const fs::path& directory, int64_t first_step)
    : file_(new_path(directory)) {
  double now = wall_time_s();
  file_.append(record_text(version_event(now)) +
               record_text(start_event(now, first_step)));
}

void EventFile::add(int64_t step, const Scalars& values) {
  file_.append(record_text(scalars_event(wall_time_s(), step, values)));
}

void EventFile::add_text(int64_t step, std::string_view tag,
                         std::string_view markdown) {
  file_.append(record_text(text_event(wall_time_s(), step, tag, markdown)));
}

void EventFile::add_hparams(int64_t step, const Hparams& values) {
  file_.append(record_text(hparams_start_event(wall_time_s(), step, values)));
}

void EventFile::add_end(int64_t step, bool succeeded) {
  file_.append(record_text(hparams_end_event(wall_time_s(), step, succeeded)));
}

void EventFile::cut_back(const fs::path& directory, int64_t step) {
  for (const fs::path& path : event_files(directory)) cut_file(path, step);
}

}  // namespace braid::io
