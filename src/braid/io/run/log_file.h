// log.txt: what a run said, in plain lines with the time (UTC).
//
//   2026-03-01 09:30:02  checkpoint  step 400
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "braid/io/file/append_file.h"

namespace braid::io {

// The line with its end; further lines of the text are indented.
std::string log_line(std::chrono::system_clock::time_point time,
                     std::string_view text);

// Appends to the file, or creates it; it is never cut. Thread-safe.
class LogFile {
 public:
  explicit LogFile(const std::filesystem::path& path) : file_(path) {}

  // With the time of now. Throws when the disk is full.
  void add(std::string_view text);

 private:
  AppendFile file_;
};

}  // namespace braid::io
