// A terminal for tests of displays, and the screen that it shows.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace braid::cli {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

inline std::string content_of(std::FILE* file) {
  std::rewind(file);
  std::string text(4000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

// A screen that understands what a display may write, and nothing more.
class Screen {
 public:
  explicit Screen(size_t width) : width_(width) {}

  void write(std::string_view text) {
    while (!text.empty()) {
      size_t used = text[0] == '\x1b' ? escape(text) : character(text[0]);
      text.remove_prefix(used);
    }
  }

  std::vector<std::string> lines;
  size_t row = 0, column = 0;

 private:
  size_t character(char c) {
    if (c == '\r') {
      column = 0;
    } else if (c == '\n') {
      ++row;
    } else {
      EXPECT_LT(column, width_) << "the line wraps";
      lines.resize(std::max(lines.size(), row + 1));
      lines[row].resize(std::max(lines[row].size(), column), ' ');
      lines[row].replace(column++, 1, 1, c);
    }
    return 1;
  }

  size_t escape(std::string_view text) {
    size_t end = text.find_first_of("AJ");
    std::string number(text.substr(2, end - 2));
    if (text[end] == 'J') {
      if (row < lines.size()) lines[row].resize(column);
      lines.resize(std::min(lines.size(), row + 1));
    } else {
      EXPECT_LE(std::stoul(number), row);
      row -= std::stoul(number);
    }
    return end + 1;
  }

  size_t width_;
};

// A terminal made of two ends of the system; what is written lands on screen.
class PseudoTerminal {
 public:
  explicit PseudoTerminal(unsigned short width) : screen_(width) {
    ::setenv("TERM", "xterm", 1);
    ::setenv("LC_ALL", "C", 1);
    near_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (::grantpt(near_) != 0 || ::unlockpt(near_) != 0) {
      throw std::runtime_error("no pseudo terminal");
    }
    far_.reset(std::fopen(::ptsname(near_), "w"));
    winsize size = {
        .ws_row = 24, .ws_col = width, .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(near_, TIOCSWINSZ, &size);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;
  ~PseudoTerminal() {
    ::close(near_);
    ::unsetenv("LC_ALL");
  }

  std::FILE* out() { return far_.get(); }

  const Screen& screen() {
    char buffer[4096];
    ssize_t count = 0;
    while ((count = ::read(near_, buffer, sizeof(buffer))) > 0) {
      screen_.write({buffer, static_cast<size_t>(count)});
    }
    return screen_;
  }

 private:
  Screen screen_;
  int near_ = -1;
  File far_{nullptr, std::fclose};
};

}  // namespace braid::cli
