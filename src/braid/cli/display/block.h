// Block: lines of a terminal that are drawn again in place, with text that
// stays above them.
//
// The cursor always stands at the end of the block and is never hidden, so a
// killed process leaves a usable terminal. Where the stream is no terminal
// there is never a block.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace braid::cli {

// Borrows the stream, and nothing else may write to it meanwhile. Writing
// blocks; one thread. When the stream takes no more, nothing is written any
// more, and output.h tells why. Destruction ends the block, so that an error
// message begins on a line of its own.
class Block {
 public:
  explicit Block(std::FILE* out);
  ~Block() { end(); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  bool is_in_place() const { return in_place_; }
  bool has_utf8() const { return utf8_; }
  // Room for lines of a block. Asked each time, since windows change.
  int width() const;
  int height() const;

  // Replaces the block, if there can be one.
  void draw(std::vector<std::string> lines);
  // A line that stays: above the block, or by itself.
  void print(std::string_view text);
  // What is drawn stays; text that follows begins on a new line.
  void end();

 private:
  std::string erase_text() const;
  void write(std::string_view text);

  std::FILE* out_;
  bool in_place_;
  bool utf8_;
  bool is_open_ = true;             // the stream has taken everything so far
  std::vector<std::string> lines_;  // on the screen now
};

}  // namespace braid::cli
