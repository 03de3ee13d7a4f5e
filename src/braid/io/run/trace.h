// Trace: what a run did when, for Perfetto (ui.perfetto.dev) or
// chrome://tracing.
//
//   [
//   {"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"compute"}},
//   {"ph":"X","pid":1,"tid":1,"ts":12.5,"dur":3,"cat":"step","name":"step 7"}
//   ]
//
// Every event is one write, so a killed process leaves whole lines; the
// bracket is then missing, which these programs accept.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "braid/io/file/append_file.h"

namespace braid::io {

// Replaces the file. Thread-safe; writing blocks.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  // The times of events count from here.
  explicit Trace(const std::filesystem::path& path);
  // finish(), but without an error.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // Something that lasted. Tracks ("compute", "load", "checkpoint", "eval")
  // are rows of the picture, in the order of their first events. Throws when
  // a name is not UTF-8 or the disk is full; ignored after finish().
  void add(std::string_view track, std::string_view category,
           std::string_view name, Clock::time_point begin,
           Clock::time_point end);

  // A number over time, such as bytes in use.
  void add_counter(std::string_view name, Clock::time_point time, double value);

  // Closes the bracket: from now on the file is valid JSON.
  void finish();

 private:
  int track_id(std::string_view track);
  std::string time_text(Clock::time_point time) const;
  void write_event(std::string_view event);

  AppendFile file_;
  Clock::time_point start_;
  std::mutex mutex_;
  std::map<std::string, int, std::less<>> tracks_;
  bool is_first_ = true;
  bool finished_ = false;
};

// Adds an event for the time it lives; nothing without a trace. Borrows the
// trace. The error of a full disk does not leave it: the work goes on.
class TraceSpan {
 public:
  TraceSpan(Trace* trace, std::string track, std::string category,
            std::string name);
  ~TraceSpan();
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  Trace* trace_;
  std::string track_, category_, name_;
  Trace::Clock::time_point begin_;
};

}  // namespace braid::io
