// metrics.jsonl: the numbers of a run, one JSON object per line.
//
//   {"step":40,"epoch":0.5,"time_s":3.2,"split":"train","loss":1.25,"lr":0.1}
//
// `epoch` counts epochs done, with a fraction; `time_s` the seconds of training
// so far. Where averaged weights are evaluated, `weights` says so. A number
// that is not finite is null, since JSON has none of these.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "braid/io/file/append_file.h"
#include "braid/io/run/scalars.h"

namespace braid::io {

struct MetricsRow {
  int64_t step = 0;
  double epoch = 0;
  double time_s = 0;
  std::string split = "train";  // "eval", "eval_raw"
  Scalars values;               // names differ from each other and the above
  std::string weights = {};     // that were evaluated; empty: the only ones
};

// The line with its end. Throws when a name is taken or not UTF-8.
std::string metrics_line(const MetricsRow& row);

// Appends to the file, or creates it. Thread-safe.
class MetricsFile {
 public:
  explicit MetricsFile(const std::filesystem::path& path) : file_(path) {}

  // The line is whole or not there. Throws when the disk is full.
  void add(const MetricsRow& row) { file_.append(metrics_line(row)); }

  // Blocks until all lines are on the disk.
  void sync() { file_.sync(); }

  // Keeps the whole lines of steps up to this one, for a run that goes on from
  // there; -1 keeps none. All or nothing. No object may have the file open.
  static void cut_back(const std::filesystem::path& path, int64_t step);
  // The highest step of whole lines; -1 when there is none, or no file.
  static int64_t last_step(const std::filesystem::path& path);

 private:
  AppendFile file_;
};

}  // namespace braid::io
