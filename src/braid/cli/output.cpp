#include "braid/cli/output.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "braid/cli/verbs/verb.h"

namespace braid::cli {
namespace {

// Streams of C keep that there was an error, but not which.
int first_error = 0;

void note_error(std::FILE* out) {
  int error = errno;
  if (out == stdout && first_error == 0) first_error = error ? error : EIO;
}

std::string trouble_text(int error) {
  return fmt::format("stdout cannot be written: {}",
                     std::generic_category().message(error));
}

}  // namespace

void prepare_streams() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    ::open("/dev/null", O_RDWR);  // the lowest that is free: this one
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

bool write_text(std::FILE* out, std::string_view text) {
  errno = 0;
  bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size() &&
                 std::fflush(out) == 0;
  if (!written) note_error(out);
  return written && !std::ferror(out);
}

void put_text(std::string_view text) {
  errno = 0;
  bool put = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!put) note_error(stdout);
}

int output_error() {
  errno = 0;
  bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (failed) note_error(stdout);
  return first_error;
}

std::string run_trouble() {
  int error = output_error();
  if (error == 0) return "";
  return trouble_text(error) + "; the run goes on without it";
}

int finish_output(int code) {
  int error = output_error();
  if (error == 0 || error == EPIPE) return code;
  print_error("[braid] {}\nHINT: what was to be seen there is lost{}\n",
              trouble_text(error),
              code == kOk ? "; what was written to files is whole" : "");
  return code == kOk ? kFailed : code;
}

}  // namespace braid::cli
