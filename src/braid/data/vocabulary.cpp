#include "braid/data/vocabulary.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "braid/base/error.h"

namespace braid::data {
namespace {

constexpr size_t kCodePoints = 0x110000;

struct Decoded {
  char32_t character;
  size_t bytes;
};

size_t length_of(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;  // a continuation, or never part of UTF-8
}

// Nothing for what is cut short, written longer than needed, or no character.
std::optional<Decoded> decode_one(io::Bytes bytes) {
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  auto lead = std::to_integer<uint8_t>(bytes[0]);
  size_t length = length_of(lead);
  if (length == 0 || length > bytes.size()) return std::nullopt;
  char32_t value = length == 1 ? lead : lead & (0x7FU >> length);
  for (std::byte byte : bytes.subspan(1, length - 1)) {
    if ((byte & std::byte{0xC0}) != std::byte{0x80}) return std::nullopt;
    value = value << 6 | std::to_integer<char32_t>(byte & std::byte{0x3F});
  }
  bool is_surrogate = value >= 0xD800 && value < 0xE000;
  if (value < kLeast[length] || value >= kCodePoints || is_surrogate) {
    return std::nullopt;
  }
  return Decoded{value, length};
}

template <class Take>
void each_character(io::Bytes bytes, std::string_view who,
                    std::string_view file, Take take) {
  for (size_t at = 0; at < bytes.size();) {
    std::optional<Decoded> next = decode_one(bytes.subspan(at));
    if (!next) {
      fail_world(
          "[{}] expected UTF-8, got the byte 0x{:02X} ({}, offset {})\n"
          "HINT: convert the file (iconv -t UTF-8) or take unit: bytes",
          who, std::to_integer<unsigned>(bytes[at]), file, at);
    }
    take(next->character);
    at += next->bytes;
  }
}

}  // namespace

std::u32string decode_utf8(io::Bytes bytes, std::string_view who,
                           std::string_view file) {
  std::u32string text;
  each_character(bytes, who, file, [&](char32_t c) { text.push_back(c); });
  return text;
}

void check_utf8(io::Bytes bytes, std::string_view who, std::string_view file) {
  each_character(bytes, who, file, [](char32_t) {});
}

Vocabulary::Vocabulary(std::u32string_view text) {
  std::vector<bool> seen(kCodePoints);
  for (char32_t character : text) seen[character] = true;
  for (char32_t c = 0; c < kCodePoints; ++c) {
    if (seen[c]) characters_.push_back(c);
  }
}

Vocabulary::Vocabulary(const std::vector<std::string>& names,
                       std::string_view who) {
  for (const std::string& name : names) {
    uint32_t point = 0;
    const char* end = name.data() + name.size();
    bool is_name = name.starts_with("U+") &&
                   std::from_chars(name.data() + 2, end, point, 16).ptr == end;
    if (!is_name || point >= kCodePoints) {
      fail_usage("[{}] the training data have '{}', which is no character", who,
                 name);
    }
    characters_.push_back(point);
  }
}

std::vector<std::string> Vocabulary::names() const {
  std::vector<std::string> names;
  for (char32_t character : characters_) {
    names.push_back(fmt::format("U+{:04X}", uint32_t{character}));
  }
  return names;
}

std::vector<uint32_t> Vocabulary::encode(std::u32string_view text,
                                         std::string_view who,
                                         std::string_view file) const {
  constexpr uint32_t kUnknown = ~uint32_t{0};
  std::vector<uint32_t> number_of(kCodePoints, kUnknown);
  for (uint32_t i = 0; i < characters_.size(); ++i) {
    number_of[characters_[i]] = i;
  }
  std::vector<uint32_t> numbers(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    numbers[i] = number_of[text[i]];
    if (numbers[i] != kUnknown) continue;
    fail_world(
        "[{}] expected a character that the training data have, got U+{:04X} "
        "({}, character {})",
        who, uint32_t{text[i]}, file, i);
  }
  return numbers;
}

}  // namespace braid::data
