#include "braid/io/run/log_file.h"

#include <fmt/chrono.h>

#include <ctime>

#include "braid/base/printable.h"

namespace braid::io {

std::string log_line(std::chrono::system_clock::time_point time,
                     std::string_view text) {
  std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  std::string line = fmt::format("{:%Y-%m-%d %H:%M:%S}  ", parts);
  std::string indent(line.size(), ' ');
  while (text.ends_with('\n')) text.remove_suffix(1);
  for (char c : printable_message(text)) {
    line += c;
    if (c == '\n') line += indent;
  }
  return line + '\n';
}

void LogFile::add(std::string_view text) {
  file_.append(log_line(std::chrono::system_clock::now(), text));
}

}  // namespace braid::io
