#include "braid/cli/display/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace braid::cli {
namespace {

constexpr int kUsualWidth = 80, kUsualHeight = 24;

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

int positive_number(std::string_view text) {
  int number = 0;
  auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  bool whole = error == std::errc() && rest == text.data() + text.size();
  return whole && number > 0 ? number : 0;
}

winsize window_of(std::FILE* out) {
  winsize size = {};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) != 0) return {};
  return size;
}

// A character and how many bytes it has.
struct Character {
  uint32_t code = '?';
  size_t bytes = 1;
};

// Where the text is no UTF-8, one byte is taken as '?'.
Character first_character(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  uint32_t code = lead & (0xff >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  return {code, bytes};
}

bool is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

// Ranges of characters that take two columns, or none.
using Range = std::pair<uint32_t, uint32_t>;
constexpr std::array<Range, 9> kWide = {{{0x1100, 0x115f},
                                         {0x2e80, 0xa4cf},
                                         {0xac00, 0xd7a3},
                                         {0xf900, 0xfaff},
                                         {0xfe30, 0xfe6f},
                                         {0xff00, 0xff60},
                                         {0xffe0, 0xffe6},
                                         {0x1f300, 0x1faff},
                                         {0x20000, 0x3fffd}}};
constexpr std::array<Range, 3> kCombining = {
    {{0x300, 0x36f}, {0x200b, 0x200f}, {0xfe00, 0xfe0f}}};

template <size_t N>
bool is_among(uint32_t code, const std::array<Range, N>& ranges) {
  for (const auto& [low, high] : ranges) {
    if (code >= low && code <= high) return true;
  }
  return false;
}

int columns_of(uint32_t code) {
  return is_among(code, kCombining) ? 0 : is_among(code, kWide) ? 2 : 1;
}

}  // namespace

bool can_redraw(std::FILE* out) {
  return ::isatty(::fileno(out)) == 1 && variable("TERM") != "dumb";
}

bool has_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string_view value = variable(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != value.npos ||
           value.find("utf8") != value.npos;
  }
  return false;
}

int terminal_width(std::FILE* out) {
  if (int width = positive_number(variable("COLUMNS"))) return width;
  winsize size = window_of(out);
  return size.ws_col > 0 ? size.ws_col : kUsualWidth;
}

int terminal_height(std::FILE* out) {
  if (int height = positive_number(variable("LINES"))) return height;
  winsize size = window_of(out);
  return size.ws_row > 0 ? size.ws_row : kUsualHeight;
}

int text_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    Character character = first_character(text);
    width += columns_of(character.code);
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string fit_text(std::string_view text, int width) {
  std::string fitted;
  while (!text.empty()) {
    Character character = first_character(text);
    width -= columns_of(character.code);
    if (width < 0) break;
    if (character.code == '?' || is_control(character.code)) {
      fitted += '?';
    } else {
      fitted += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return fitted;
}

}  // namespace braid::cli
