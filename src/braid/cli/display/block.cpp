#include "braid/cli/display/block.h"

#include <fmt/format.h>

#include <algorithm>

#include "braid/cli/display/terminal.h"
#include "braid/cli/output.h"

namespace braid::cli {
namespace {

std::string join_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += text.empty() ? line : "\n" + line;
  }
  return text;
}

}  // namespace

Block::Block(std::FILE* out)
    : out_(out), in_place_(can_redraw(out)), utf8_(cli::has_utf8()) {}

// The last column stays free: some terminals wrap when it is written.
int Block::width() const { return terminal_width(out_) - 1; }

int Block::height() const { return terminal_height(out_); }

// In one piece, so that nobody sees half of it.
void Block::draw(std::vector<std::string> lines) {
  if (!in_place_) return;
  std::string text = erase_text();
  lines_ = std::move(lines);
  write(text + join_lines(lines_));
}

void Block::print(std::string_view text) {
  write(fmt::format("{}{}\n{}", erase_text(), text, join_lines(lines_)));
}

// Back to the beginning of the block. Lines that were wider than the window
// is now were wrapped by it.
std::string Block::erase_text() const {
  if (lines_.empty()) return "";
  int width = terminal_width(out_), rows = 0;
  for (const std::string& line : lines_) {
    rows += std::max(1, (text_width(line) + width - 1) / width);
  }
  std::string up = rows > 1 ? fmt::format("\x1b[{}A", rows - 1) : "";
  return "\r" + up + "\x1b[J";
}

void Block::end() {
  if (!lines_.empty()) write("\n");
  lines_.clear();
}

void Block::write(std::string_view text) {
  if (is_open_) is_open_ = write_text(out_, text);
}

}  // namespace braid::cli
