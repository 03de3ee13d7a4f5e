#include "braid/base/printable.h"

#include <algorithm>
#include <vector>

#include "braid/base/text.h"
#include "fmt/format.h"

namespace braid {
namespace {

constexpr size_t kMostLine = 2000, kFirstLines = 200, kLastLines = 4;

// The end of the first character; 0 when none begins there.
size_t first_size(std::string_view text) {
  for (size_t size = 1; size <= std::min<size_t>(text.size(), 4); ++size) {
    if (utf8_length(text.substr(0, size)) == size) return size;
  }
  return 0;
}

// C0, DEL, and C1, which is two bytes of UTF-8.
bool is_control(std::string_view character) {
  auto byte = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return byte < 0x20 || byte == 0x7f;
  return byte == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

std::string escaped(std::string_view bytes) {
  std::string text;
  for (char c : bytes) {
    text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return lines;
}

}  // namespace

std::string printable(std::string_view text, size_t most) {
  std::string result;
  while (!text.empty()) {
    if (result.size() >= most) return result + "...";
    size_t size = std::max<size_t>(first_size(text), 1);
    std::string_view character = text.substr(0, size);
    bool is_plain = first_size(text) > 0 && !is_control(character);
    result += is_plain ? std::string(character) : escaped(character);
    text.remove_prefix(size);
  }
  return result;
}

std::string printable_message(std::string_view text) {
  std::vector<std::string_view> lines = lines_of(text);
  std::string result;
  for (size_t i = 0; i < lines.size(); ++i) {
    bool is_last = i + kLastLines >= lines.size();
    if (i == kFirstLines && !is_last) {
      size_t hidden = lines.size() - kLastLines - i;
      result += fmt::format("\n  ... {} more lines",
                            grouped(static_cast<int64_t>(hidden)));
      i += hidden;
    }
    result += (result.empty() ? "" : "\n") + printable(lines[i], kMostLine);
  }
  return result;
}

std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  size_t first = number < 0 ? 1 : 0;
  for (size_t at = text.size(); at > first + 3; at -= 3) {
    text.insert(at - 3, ",");
  }
  return text;
}

void Listing::add(std::string_view line) {
  if (count_++ < kMost) text_ += fmt::format("\n  {}", line);
}

std::string Listing::text() const {
  if (count_ <= kMost) return text_;
  return fmt::format("{}\n  and {} more", text_,
                     grouped(static_cast<int64_t>(count_ - kMost)));
}

}  // namespace braid
