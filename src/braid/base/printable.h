// Text that others wrote, made fit for messages: names in files may be long,
// many, and hold codes that do things to a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace braid {

// The text with control characters and bytes that are no UTF-8 as "\x1b", cut
// behind about `most` bytes.
std::string printable(std::string_view text, size_t most = 100);

// The same for a message of several lines: lines keep their ends, those in the
// middle are counted when there are too many.
std::string printable_message(std::string_view text);

// 1234567 -> "1,234,567"
std::string grouped(int64_t number);

// Lines below a message; beyond the first ones they are only counted.
class Listing {
 public:
  static constexpr size_t kMost = 20;

  // Whether a further line would be shown; else its text need not be made.
  bool has_room() const { return count_ < kMost; }
  void add(std::string_view line);
  bool empty() const { return count_ == 0; }

  // "\n  first\n  second\n  and 999,998 more"
  std::string text() const;

 private:
  size_t count_ = 0;
  std::string text_;
};

}  // namespace braid
