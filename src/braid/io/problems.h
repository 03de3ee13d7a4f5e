// What is wrong with a file, gathered so that one error can name all of it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace braid::io {

// Text from a file for use in messages: cut when long, without control
// characters.
std::string shown(std::string_view text);

class Problems {
 public:
  // `place` says where in the file; it may be empty. A last line "HINT: ..." of
  // the text is a hint as below.
  void add(std::string_view place, std::string_view text);
  // A line that tells what to do, once at the end of the message.
  void add_hint(std::string_view hint);

  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  // Further problems are only counted: their text need not be made.
  bool is_full() const { return lines_.size() >= kMaxListed; }

  // Throws std::runtime_error "[where] file: ..." when there are problems.
  void throw_if_any(std::string_view where, std::string_view file) const;

  static constexpr size_t kMaxListed = 20;

 private:
  size_t count_ = 0;
  std::vector<std::string> lines_;
  std::vector<std::string> hints_;
};

}  // namespace braid::io
