// Shared by the tests of this folder: a directory that goes away, and worlds
// in which writing fails.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>

#include "braid/io/file/file.h"

namespace braid::io {

class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::filesystem::path& parent =
                                std::filesystem::temp_directory_path()) {
    std::string pattern = (parent / "braid-test-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp");
    path_ = pattern;
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A parent in main memory where there is one: fsync takes no time there.
inline std::filesystem::path fast_parent() {
  bool usable = ::access("/dev/shm", W_OK | X_OK) == 0;
  return usable ? "/dev/shm" : std::filesystem::temp_directory_path();
}

// While it lives, no file grows beyond the limit, as on a full disk.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) {
    old_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    rlimit limit = {bytes, old_limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    ::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_limit_ = {};
  sighandler_t old_handler_ = nullptr;
};

// While it lives, the directory can be read but not written, also by root.
class ReadOnly {
 public:
  explicit ReadOnly(std::filesystem::path path)
      : path_(std::move(path)), old_user_(::geteuid()) {
    changed_ = ::chmod(path_.c_str(), 0555) == 0 &&
               (old_user_ != 0 || ::seteuid(65534) == 0);
    if (!changed_) throw std::runtime_error("cannot make it read-only");
  }
  ReadOnly(const ReadOnly&) = delete;
  ReadOnly& operator=(const ReadOnly&) = delete;
  ~ReadOnly() {
    changed_ = ::seteuid(old_user_) != 0 || ::chmod(path_.c_str(), 0755) != 0;
  }

 private:
  std::filesystem::path path_;
  uid_t old_user_;
  bool changed_ = false;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline void write_text(const std::filesystem::path& path,
                       const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline size_t num_entries(const std::filesystem::path& directory) {
  size_t count = 0;
  for (auto& entry : std::filesystem::directory_iterator(directory)) {
    count += entry.exists() || entry.is_symlink();
  }
  return count;
}

inline Bytes bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The message of the error that the call must throw.
template <class Error, class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another type of error: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no error";
  return "";
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), text.npos) << part << "\nnot in:\n" << text;
}

}  // namespace braid::io
