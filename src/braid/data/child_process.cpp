#include "braid/data/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "braid/base/error.h"
#include "braid/base/printable.h"

extern char** environ;

namespace braid::data {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGoodbye_s = 3, kTerminate_s = 1;
constexpr size_t kKeptErrors = 4096, kShownLines = 12;

// A program that ended must not end this one: writing to it is an error code
// and no signal while this lives.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    if (!::sigismember(&before_, SIGPIPE)) {
      timespec now = {};
      while (::sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_, before_;
};

// What the program starts with: its ends of the pipes, its own group, and the
// signals as a program expects them.
class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
                                                POSIX_SPAWN_SETSIGDEF |
                                                POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

std::string command_text(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) {
    bool is_plain =
        !word.empty() && word.find_first_of(" '\"\\\t\n") == word.npos;
    text += (text.empty() ? "" : " ") + (is_plain ? word : "'" + word + "'");
  }
  return printable(text, 200);
}

std::string status_text(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) {
    return fmt::format("ended with status {}", info.si_status);
  }
  return fmt::format("was ended by signal {} ({})", info.si_status,
                     ::strsignal(info.si_status));
}

}  // namespace

ChildProcess::Pipe::Pipe(const std::string& who) {
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    fail_world("[{}] the system gives no pipe: {}", who, ::strerror(errno));
  }
  reader = ends[0];
  writer = ends[1];
}

ChildProcess::Pipe::~Pipe() {
  close_reader();
  close_writer();
}

void ChildProcess::Pipe::close_reader() {
  if (reader >= 0) ::close(std::exchange(reader, -1));
}

void ChildProcess::Pipe::close_writer() {
  if (writer >= 0) ::close(std::exchange(writer, -1));
}

ChildProcess::ChildProcess(Options options)
    : options_(std::move(options)),
      text_(command_text(options_.command)),
      input_(options_.who),
      output_(options_.who),
      errors_(options_.who) {
  start();
  input_.close_reader();
  output_.close_writer();
  errors_.close_writer();
  for (int end : {input_.writer, output_.reader, errors_.reader}) {
    ::fcntl(end, F_SETFL, O_NONBLOCK);
  }
}

void ChildProcess::start() {
  SpawnSettings settings;
  ::posix_spawn_file_actions_adddup2(&settings.actions, input_.reader, 0);
  ::posix_spawn_file_actions_adddup2(&settings.actions, output_.writer, 1);
  ::posix_spawn_file_actions_adddup2(&settings.actions, errors_.writer, 2);
  if (!options_.folder.empty()) {
    if (!std::filesystem::is_directory(options_.folder)) {
      io::fail_file(options_.who, "cannot run in", options_.folder, ENOTDIR);
    }
    ::posix_spawn_file_actions_addchdir_np(&settings.actions,
                                           options_.folder.c_str());
  }
  std::vector<char*> words;
  for (std::string& word : options_.command) words.push_back(word.data());
  words.push_back(nullptr);
  int error = ::posix_spawnp(&pid_, words[0], &settings.actions,
                             &settings.attributes, words.data(), environ);
  if (error == 0) return;
  pid_ = -1;
  fail_world(
      "[{}] cannot start '{}': {}\n"
      "HINT: 'command: [PROGRAM, ARGUMENT, ...]' begins with a program of the "
      "PATH or a path from the folder of the job",
      options_.who, text_, ::strerror(error));
}

// Its id stays its own until it is waited for, so signals cannot go astray.
ChildProcess::~ChildProcess() {
  if (pid_ < 0) return;
  input_.close_writer();
  output_.close_reader();  // it may be in the midst of an answer
  if (!wait_for_end(kGoodbye_s)) {
    end_group(SIGTERM);
    wait_for_end(kTerminate_s);
  }
  end_group(SIGKILL);  // also what it left behind
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::end_group(int signal) { ::kill(-pid_, signal); }

// Whether it has ended; it is not waited for in the sense of the system.
bool ChildProcess::wait_for_end(double seconds) {
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    siginfo_t info = {};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info,
             WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid == pid_) return true;
    if (Clock::now() >= end) return false;
    take_errors();  // it may wait for somebody who reads them
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void ChildProcess::take_errors() {
  std::array<char, 4096> piece;
  ssize_t count = 0;
  while ((count = ::read(errors_.reader, piece.data(), piece.size())) > 0) {
    last_errors_.append(piece.data(), static_cast<size_t>(count));
    if (last_errors_.size() > 2 * kKeptErrors) {
      last_errors_.erase(0, last_errors_.size() - kKeptErrors);
    }
  }
}

void ChildProcess::wait_for(int descriptor, short events,
                            const std::string& what) {
  auto end = Clock::now() + std::chrono::duration<double>(options_.timeout_s);
  bool has_errors = true;
  for (;;) {
    std::array<pollfd, 2> files = {
        {{descriptor, events, 0},
         {has_errors ? errors_.reader : -1, POLLIN, 0}}};
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - Clock::now());
    auto wait_ms = std::clamp<int64_t>(left.count() + 1, 0, 1000);
    int ready = ::poll(files.data(), files.size(), static_cast<int>(wait_ms));
    if (ready < 0 && errno != EINTR) {
      fail_world("[{}] cannot wait for '{}': {}", options_.who, text_,
                 ::strerror(errno));
    }
    if (files[1].revents != 0) {
      take_errors();
      has_errors = (files[1].revents & POLLHUP) == 0;
    }
    if (files[0].revents != 0) return;
    if (Clock::now() < end) continue;
    fail(fmt::format("gave no sign for {} s: {}", options_.timeout_s, what),
         "a program that needs longer may have it: 'timeout: SECONDS'");
  }
}

void ChildProcess::write(io::Bytes bytes) {
  NoPipeSignal quiet;
  while (!bytes.empty()) {
    ssize_t count = ::write(input_.writer, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      wait_for(input_.writer, POLLOUT, "it does not read what it is asked");
    } else if (errno != EINTR) {
      fail_ended("it was asked for samples");
    }
  }
}

void ChildProcess::read(std::span<std::byte> out, const std::string& what) {
  while (!out.empty()) {
    ssize_t count = ::read(output_.reader, out.data(), out.size());
    if (count > 0) {
      out = out.subspan(static_cast<size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      wait_for(output_.reader, POLLIN, "expected " + what);
    } else if (count == 0 || errno != EINTR) {
      fail_ended("expected " + what);
    }
  }
}

// Its output is closed: it ended or is about to, and may say why.
void ChildProcess::fail_ended(const std::string& what) {
  bool has_ended = wait_for_end(1);
  siginfo_t info = {};
  ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  fail(fmt::format("{}: {}",
                   has_ended ? status_text(info) : "closed its output", what));
}

void ChildProcess::fail(const std::string& problem, const std::string& hint) {
  take_errors();
  end_group(SIGKILL);  // nothing more is asked of it
  std::vector<std::string> lines;
  std::string line;
  for (char c : last_errors_ + "\n") {
    if (c != '\n') {
      line += c;
      continue;
    }
    if (line.find_first_not_of(" \t\r") != line.npos) lines.push_back(line);
    line.clear();
  }
  size_t first = lines.size() > kShownLines ? lines.size() - kShownLines : 0;
  std::string last = lines.empty() ? "" : "\nits last lines:";
  for (size_t i = first; i < lines.size(); ++i) {
    last += "\n  " + printable(lines[i], 200);
  }
  fail_world("[{}] '{}' {}{}{}", options_.who, text_, problem, last,
             hint.empty() ? "" : "\nHINT: " + hint);
}

}  // namespace braid::data
