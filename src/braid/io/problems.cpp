#include "braid/io/problems.h"

#include <algorithm>

#include "braid/base/error.h"

namespace braid::io {

std::string shown(std::string_view text) {
  constexpr size_t kLimit = 100;
  size_t end = std::min(text.size(), kLimit);
  auto is_inside = [&] { return (text[end] & 0xc0) == 0x80; };  // of UTF-8
  while (end > 0 && end < text.size() && is_inside()) --end;
  std::string result(text.substr(0, end));
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (end < text.size()) result += "...";
  return result;
}

void Problems::add(std::string_view place, std::string_view text) {
  constexpr std::string_view kHint = "\nHINT: ";
  ++count_;
  if (is_full()) return;
  if (size_t at = text.find(kHint); at != text.npos) {
    add_hint(text.substr(at + kHint.size()));
    text = text.substr(0, at);
  }
  lines_.push_back(place.empty() ? std::string(text)
                                 : fmt::format("{}: {}", place, text));
}

void Problems::add_hint(std::string_view hint) {
  if (std::ranges::count(hints_, hint) == 0) hints_.emplace_back(hint);
}

void Problems::throw_if_any(std::string_view where,
                            std::string_view file) const {
  if (empty()) return;
  std::string text = fmt::format("[{}] {}: ", where, file);
  if (count_ == 1) {
    text += lines_[0];
  } else {
    text += fmt::format("{} problems", count_);
    for (const std::string& line : lines_) text += "\n  " + line;
    if (count_ > lines_.size()) {
      text += fmt::format("\n  and {} more", count_ - lines_.size());
    }
  }
  for (const std::string& hint : hints_) text += "\nHINT: " + hint;
  fail_world("{}", text);
}

}  // namespace braid::io
