#include "braid/data/npy_header.h"

#include <charconv>
#include <optional>

#include "braid/io/problems.h"

namespace braid::data {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

std::string_view text_of(io::Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// '<f4' -> f32; '|' means that the order of bytes does not matter.
std::optional<Element> read_descr(std::string_view text) {
  if (text.size() != 3 || std::string_view("<>|=").find(text[0]) == text.npos) {
    return std::nullopt;
  }
  Element element{.bytes = text[2] - '0', .big_endian = text[0] == '>'};
  bool is_power = element.bytes == 1 || element.bytes == 2 ||
                  element.bytes == 4 || element.bytes == 8;
  if (!is_power || (text[1] == 'f' && element.bytes == 1)) return std::nullopt;
  switch (text[1]) {
    case 'f': element.kind = Element::Kind::kFloat; return element;
    case 'i': element.kind = Element::Kind::kSigned; return element;
    case 'u': element.kind = Element::Kind::kUnsigned; return element;
    case 'b': element.kind = Element::Kind::kBool; break;
    default: return std::nullopt;
  }
  return element.bytes == 1 ? std::optional(element) : std::nullopt;
}

// The text is a literal of Python; this reads the part of it that is used.
class HeaderText {
 public:
  HeaderText(std::string_view text, const FileCursor& cursor)
      : text_(text), cursor_(cursor), begin_(cursor.offset() - text.size()) {}

  NpyHeader read() {
    expect('{');
    while (!accept('}')) {
      read_entry();
      if (!accept(',') && !at('}')) fail("',' or '}'");
    }
    skip_space();
    if (place_ != text_.size()) fail("the end of the header");
    if (seen_ != 7) fail("'descr', 'fortran_order' and 'shape'");
    return header_;
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    cursor_.fail(begin_ + place_, expected,
                 fmt::format("'{}'", io::shown(text_.substr(
                                         std::min(place_, text_.size()), 40))));
  }

  void read_entry() {
    std::string_view key = quoted();
    expect(':');
    unsigned bit = key == "descr" ? 1 : key == "fortran_order" ? 2 : 4;
    if ((bit == 4 && key != "shape") || (seen_ & bit) != 0) {
      fail("a key of a .npy header, each once");
    }
    seen_ |= bit;
    if (bit == 1) read_type();
    if (bit == 2) header_.fortran_order = read_flag();
    if (bit == 4) read_shape();
  }

  void read_type() {
    skip_space();
    size_t start = place_;
    std::optional<Element> element;
    if (at('\'') || at('"')) element = read_descr(quoted());
    if (element) {
      header_.element = *element;
      return;
    }
    place_ = start;
    fail("a type of whole numbers, floats or bool of at most 8 bytes");
  }

  bool read_flag() {
    skip_space();
    for (auto [word, value] : {std::pair{std::string_view("True"), true},
                               std::pair{std::string_view("False"), false}}) {
      if (!text_.substr(place_).starts_with(word)) continue;
      place_ += word.size();
      return value;
    }
    fail("True or False");
  }

  void read_shape() {
    expect('(');
    while (!accept(')')) {
      header_.shape.push_back(whole());
      if (!accept(',') && !at(')')) fail("',' or ')'");
    }
  }

  int64_t whole() {
    skip_space();
    int64_t number = 0;
    const char* begin = text_.data() + place_;
    auto [end, error] =
        std::from_chars(begin, text_.data() + text_.size(), number);
    if (error != std::errc() || number < 0) fail("a size");
    place_ += static_cast<size_t>(end - begin);
    return number;
  }

  std::string_view quoted() {
    skip_space();
    if (!at('\'') && !at('"')) fail("a quoted text");
    size_t end = text_.find(text_[place_], place_ + 1);
    if (end == text_.npos) fail("a quoted text that ends");
    std::string_view inner = text_.substr(place_ + 1, end - place_ - 1);
    place_ = end + 1;
    return inner;
  }

  void skip_space() {
    while (at(' ') || at('\n')) ++place_;
  }
  bool at(char c) const { return place_ < text_.size() && text_[place_] == c; }
  bool accept(char c) {
    skip_space();
    if (!at(c)) return false;
    ++place_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}'", c));
  }

  std::string_view text_;
  const FileCursor& cursor_;
  size_t begin_;  // of the text in the file
  size_t place_ = 0;
  unsigned seen_ = 0;
  NpyHeader header_;
};

}  // namespace

NpyHeader read_npy_header(FileCursor& cursor) {
  if (cursor.left() < kMagic.size() ||
      text_of(cursor.take(kMagic.size(), "header")) != kMagic) {
    cursor.fail(0, "a .npy file", "something else",
                "a pickle must be saved anew with numpy.save");
  }
  uint8_t version = cursor.byte("header");
  if (version < 1 || version > 3 || cursor.byte("header") != 0) {
    cursor.fail(kMagic.size(), "version 1.0, 2.0 or 3.0",
                fmt::format("{}", version));
  }
  size_t length = cursor.little_endian(version == 1 ? 2 : 4, "header");
  std::string_view text = text_of(cursor.take(length, "header"));
  return HeaderText(text, cursor).read();
}

size_t npy_bytes(const FileCursor& cursor, const NpyHeader& header) {
  std::optional<size_t> needed = tensor_bytes(header.element, header.shape);
  if (needed && *needed == cursor.left()) return *needed;
  cursor.fail(cursor.offset(),
              fmt::format("{} {}", element_text(header.element),
                          shape_text(header.shape)),
              fmt::format("{} bytes", cursor.left()),
              "the file is cut short, or holds more than one array");
}

}  // namespace braid::data
