// ChildProcess: a program that answers on its standard output what it is asked
// on its standard input.
//
// It runs in a process group of its own, so that Ctrl-C reaches Braid alone,
// which ends it in good order. The last lines of its standard error are kept
// for errors.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "braid/io/file/file.h"

namespace braid::data {

// For one thread at a time. No call waits longer than the timeout for the
// program to read or write something. All errors are std::runtime_error and
// name the command.
class ChildProcess {
 public:
  struct Options {
    std::string who;                   // begins errors: "data.command"
    std::vector<std::string> command;  // program and arguments
    std::filesystem::path folder;      // in which it runs; empty: this one's
    double timeout_s = 300;
  };

  explicit ChildProcess(Options options);
  // Closes its input and waits a moment for it to end; then it is ended, with
  // all that it started in its group. Nothing is left behind.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void write(io::Bytes bytes);
  void read(std::span<std::byte> out, const std::string& what);

  // Throws "[who] 'command' ...", with its last lines.
  [[noreturn]] void fail(const std::string& problem,
                         const std::string& hint = "");

  // The command as it would be typed.
  const std::string& text() const { return text_; }

 private:
  class Pipe {
   public:
    Pipe(const std::string& who);
    ~Pipe();
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    void close_reader();
    void close_writer();
    int reader = -1;
    int writer = -1;
  };

  void start();
  // Waits until the descriptor can be used; keeps reading the errors.
  void wait_for(int descriptor, short events, const std::string& what);
  void take_errors();
  [[noreturn]] void fail_ended(const std::string& what);
  bool wait_for_end(double seconds);
  void end_group(int signal);

  Options options_;
  std::string text_;
  Pipe input_, output_, errors_;
  std::string last_errors_;
  pid_t pid_ = -1;
};

}  // namespace braid::data
