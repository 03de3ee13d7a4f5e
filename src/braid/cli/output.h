// What the program writes to stdout and stderr. A stream that takes no more
// never ends a run: the first error is kept and told at the end.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "braid/base/error.h"

namespace braid::cli {

// Files that are opened must never become stdin, stdout or stderr: those that
// are closed are opened as /dev/null. Writing to a pipe without a reader or
// beyond a limit of file sizes becomes an error instead of a signal.
void prepare_streams();

// Writes and flushes. False when the stream has taken something less, now or
// before; see output_error().
bool write_text(std::FILE* out, std::string_view text);

// To stdout, without a flush. Neither throws when that fails: the work goes
// on, and finish_output() tells.
void put_text(std::string_view text);
template <class... Args>
void print(fmt::format_string<Args...> text, Args&&... args) {
  put_text(fmt::format(text, std::forward<Args>(args)...));
}

// A message for a person on stderr; when that cannot be written, nobody is
// there to be told.
template <class... Args>
void print_error(fmt::format_string<Args...> text, Args&&... args) {
  write_text(stderr, fmt::format(text, std::forward<Args>(args)...));
}

// Why stdout has not taken everything, as the errno; 0: it has, so far.
int output_error();

// The same for the log of a run, which goes on; empty when nothing is wrong.
std::string run_trouble();

// After all that a verb writes: its exit code, or that of a failure with a
// message when something is missing on stdout. A reader that left has seen
// enough, which is no failure.
int finish_output(int code);

}  // namespace braid::cli
