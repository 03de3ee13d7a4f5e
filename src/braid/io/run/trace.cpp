#include "braid/io/run/trace.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "braid/base/error.h"
#include "braid/io/file/write_target.h"

namespace braid::io {
namespace {

using Json = nlohmann::json;

std::string quote(std::string_view text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    fail_usage("[trace] the name '{}' is not UTF-8", text);
  }
}

// A trace of an earlier start is of no use to this one.
const std::filesystem::path& emptied(const std::filesystem::path& path) {
  if (find_write_target(path).is_replaceable) write_file_atomically(path, "");
  return path;
}

}  // namespace

Trace::Trace(const std::filesystem::path& path)
    : file_(emptied(path)), start_(Clock::now()) {
  file_.append("[\n");
}

Trace::~Trace() {
  try {
    finish();
  } catch (const std::exception&) {
    // Without the bracket the file can still be read.
  }
}

void Trace::add(std::string_view track, std::string_view category,
                std::string_view name, Clock::time_point begin,
                Clock::time_point end) {
  std::string text = fmt::format(
      R"("ts":{},"dur":{},"cat":{},"name":{})", time_text(begin),
      std::chrono::duration<double, std::micro>(end - begin).count(),
      quote(category), quote(name));
  std::lock_guard lock(mutex_);
  int id = track_id(track);
  write_event(fmt::format(R"({{"ph":"X","pid":1,"tid":{},{}}})", id, text));
}

void Trace::add_counter(std::string_view name, Clock::time_point time,
                        double value) {
  if (!std::isfinite(value)) return;
  std::string text = fmt::format(
      R"({{"ph":"C","pid":1,"ts":{},"name":{},"args":{{"value":{}}}}})",
      time_text(time), quote(name), value);
  std::lock_guard lock(mutex_);
  write_event(text);
}

void Trace::finish() {
  std::lock_guard lock(mutex_);
  if (std::exchange(finished_, true)) return;
  file_.append("\n]\n");
}

// The name and place of a track are told before its first event.
int Trace::track_id(std::string_view track) {
  auto found = tracks_.find(track);
  if (found != tracks_.end()) return found->second;
  int id = static_cast<int>(tracks_.size()) + 1;
  auto tell = [&](std::string_view what, std::string_view fact) {
    write_event(fmt::format(
        R"({{"ph":"M","pid":1,"tid":{},"name":"{}","args":{{{}}}}})", id, what,
        fact));
  };
  tell("thread_name", fmt::format(R"("name":{})", quote(track)));
  tell("thread_sort_index", fmt::format(R"("sort_index":{})", id));
  tracks_.emplace(track, id);
  return id;
}

// In microseconds, as the format wants them.
std::string Trace::time_text(Clock::time_point time) const {
  return fmt::format(
      "{}", std::chrono::duration<double, std::micro>(time - start_).count());
}

// The comma comes first: the last event must have none after it.
void Trace::write_event(std::string_view event) {
  if (finished_) return;
  file_.append(fmt::format("{}{}", is_first_ ? "" : ",\n", event));
  is_first_ = false;
}

TraceSpan::TraceSpan(Trace* trace, std::string track, std::string category,
                     std::string name)
    : trace_(trace),
      track_(std::move(track)),
      category_(std::move(category)),
      name_(std::move(name)),
      begin_(Trace::Clock::now()) {}

TraceSpan::~TraceSpan() {
  if (!trace_) return;
  try {
    trace_->add(track_, category_, name_, begin_, Trace::Clock::now());
  } catch (const std::exception&) {
    // A picture is not worth a run.
  }
}

}  // namespace braid::io
