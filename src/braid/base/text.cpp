#include "braid/base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace braid {
namespace {

// Letters that changed their places count once.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last(b.size() + 1), row;
  std::iota(last.begin(), last.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    row.assign(b.size() + 1, i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = last[j] + (a[i] == b[j] ? 0 : 1);
      row[j + 1] = std::min({replaced, row[j] + 1, last[j + 1] + 1});
      bool is_swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (is_swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
    before = std::exchange(last, row);
  }
  return last.back();
}

// Bytes of a character by its first one; 0 when none begins so.
size_t utf8_size(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

// Overlong forms, surrogates and what lies beyond Unicode.
bool is_bad_pair(unsigned char first, unsigned char second) {
  return (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
         (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
}

bool is_character(std::string_view bytes) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  for (size_t i = 1; i < bytes.size(); ++i) {
    if ((byte(i) & 0xc0) != 0x80) return false;
  }
  return bytes.size() < 2 || !is_bad_pair(byte(0), byte(1));
}

}  // namespace

std::string nearest_name(std::string_view wanted,
                         const std::vector<std::string>& names) {
  auto nearer = [&](const std::string& a, const std::string& b) {
    return edit_distance(wanted, a) < edit_distance(wanted, b);
  };
  auto best = std::min_element(names.begin(), names.end(), nearer);
  return best == names.end() ? std::string() : *best;
}

std::string near_name(std::string_view wanted,
                      const std::vector<std::string>& names) {
  std::string nearest = nearest_name(wanted, names);
  size_t longer = std::max(wanted.size(), nearest.size());
  size_t most = std::max<size_t>(longer * 2 / 5, 1);
  bool is_near = edit_distance(wanted, nearest) <= most;
  bool begins = (wanted.size() >= 3 && nearest.starts_with(wanted)) ||
                (nearest.size() >= 3 && wanted.starts_with(nearest));
  return (is_near && longer > 1) || begins ? nearest : "";
}

std::string name_hint(std::string_view wanted,
                      const std::vector<std::string>& names) {
  constexpr size_t kMostNames = 40, kLine = 90;
  std::string near = near_name(wanted, names);
  if (!near.empty()) return fmt::format("did you mean '{}'?", near);
  if (names.empty()) return "there is none";
  std::vector<std::string> known;
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end()) known.push_back(name);
  }
  size_t shown = std::min(known.size(), kMostNames);
  std::string text = known.size() == 1 ? "there is" : "there are";
  size_t line = 0;  // where it begins
  for (size_t i = 0; i < shown; ++i) {
    bool is_full = text.size() + known[i].size() - line > kLine;
    if (is_full) line = text.size();
    text += (is_full ? "\n  " : " ") + known[i] + (i + 1 < shown ? "," : "");
  }
  if (shown < known.size()) {
    text += fmt::format(" and {} more", known.size() - shown);
  }
  return text;
}

bool fits_pattern(std::string_view name, std::string_view pattern) {
  // Where to go on when what follows the last '*' does not fit.
  size_t star = pattern.npos, resume = 0;
  size_t n = 0, p = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]) &&
        pattern[p] != '*') {
      ++n, ++p;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (star != pattern.npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

size_t utf8_length(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    size_t size = utf8_size(static_cast<unsigned char>(text[at]));
    if (size == 0 || at + size > text.size()) break;
    if (!is_character(text.substr(at, size))) break;
    at += size;
  }
  return at;
}

}  // namespace braid
