#include "braid/graph/text_tokens.h"

#include <algorithm>
#include <charconv>

#include "braid/base/shape.h"

namespace braid {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_word_char(char c) {
  return is_letter(c) || is_digit(c) || c == '.' || c == ':' || c == '-';
}

bool is_number_char(char c) {
  return is_letter(c) || is_digit(c) || c == '.' || c == '+' || c == '-';
}

bool is_control(char c) {
  auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F;
}

// Words that begin other statements, so an op of that name needs quotes.
bool is_keyword(std::string_view word) {
  return word == "slot" || word == "input" || word == "output";
}

// The longest run of such characters from `from` on.
template <class Is>
std::string_view run_of(std::string_view text, size_t from, Is is) {
  size_t end = from;
  while (end < text.size() && is(text[end])) ++end;
  return text.substr(from, end - from);
}

// Whether the whole token is the number.
template <class T, class... Base>
std::errc read_whole(std::string_view token, T& number, Base... base) {
  const char* end = token.data() + token.size();
  auto [rest, error] = std::from_chars(token.data(), end, number, base...);
  if (error == std::errc() && rest != end) return std::errc::invalid_argument;
  return error;
}

}  // namespace

std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_control(c)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string word_text(std::string_view word) {
  bool plain = !word.empty() && is_letter(word[0]) && !is_keyword(word) &&
               std::all_of(word.begin(), word.end(), is_word_char);
  return plain ? std::string(word) : quoted_text(word);
}

std::string number_text(double number) {
  std::string text = fmt::format("{}", number);
  bool clear = text.find_first_of(".en") != std::string::npos;
  return clear ? text : text + ".0";
}

std::string attr_text(const Attr& attr) {
  if (const bool* flag = std::get_if<bool>(&attr)) {
    return *flag ? "true" : "false";
  }
  if (const int64_t* integer = std::get_if<int64_t>(&attr)) {
    return fmt::format("{}", *integer);
  }
  if (const double* number = std::get_if<double>(&attr)) {
    return number_text(*number);
  }
  if (const std::string* text = std::get_if<std::string>(&attr)) {
    return quoted_text(*text);
  }
  return shape_text(std::get<Ints>(attr));
}

std::string shown(std::string_view text) {
  constexpr size_t kLongest = 60;
  if (text.size() <= kLongest) return quoted_text(text);
  return quoted_text(text.substr(0, kLongest)) + "...";
}

void TokenReader::skip_spaces() {
  auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  at_ += run_of(line_, at_, is_space).size();
  if (at_ < line_.size() && line_[at_] == '#') at_ = line_.size();
}

bool TokenReader::done() {
  skip_spaces();
  return at_ == line_.size();
}

void TokenReader::expect_done() {
  if (!done()) fail_expected("the end of the line");
}

char TokenReader::peek() { return done() ? '\0' : line_[at_]; }

bool TokenReader::take(char c) {
  if (done() || line_[at_] != c) return false;
  ++at_;
  return true;
}

void TokenReader::expect(char c) {
  if (!take(c)) fail_expected(fmt::format("'{}'", c));
}

std::string_view TokenReader::peek_word() {
  return is_letter(peek()) ? run_of(line_, at_, is_word_char)
                           : std::string_view();
}

std::string_view TokenReader::word() {
  std::string_view word = peek_word();
  at_ += word.size();
  return word;
}

bool TokenReader::take_word(std::string_view word) {
  if (peek_word() != word) return false;
  at_ += word.size();
  return true;
}

std::string TokenReader::name() {
  if (peek() == '"') return quoted();
  std::string_view bare = word();
  if (bare.empty()) fail_expected("a name");
  return std::string(bare);
}

std::string TokenReader::quoted() {
  if (!take('"')) fail_expected("a name in quotes");
  std::string text;
  while (at_ < line_.size() && line_[at_] != '"') {
    char c = line_[at_++];
    text += c == '\\' ? escape() : c;
  }
  if (at_ == line_.size()) fail("the quote is never closed");
  ++at_;
  return text;
}

// What follows a backslash.
char TokenReader::escape() {
  char c = at_ < line_.size() ? line_[at_++] : '\0';
  if (c == '"' || c == '\\') return c;
  if (c == 'n') return '\n';
  if (c == 't') return '\t';
  unsigned char byte = 0;
  std::string_view digits = line_.substr(at_, 2);
  if (c != 'x' || digits.size() != 2 ||
      read_whole(digits, byte, 16) != std::errc()) {
    fail(
        "unknown escape in quotes\nHINT: there are \\\", \\\\, \\n, \\t, "
        "\\xNN");
  }
  at_ += 2;
  return static_cast<char>(byte);
}

std::string_view TokenReader::number_token() {
  skip_spaces();
  std::string_view token = run_of(line_, at_, is_number_char);
  if (token.empty()) fail_expected("a number");
  at_ += token.size();
  return token;
}

int64_t TokenReader::integer() {
  std::string_view token = number_token();
  int64_t number = 0;
  std::errc error = read_whole(token, number);
  if (error == std::errc::result_out_of_range) {
    fail("{} does not fit 64 bits", shown(token));
  }
  if (error != std::errc()) fail("{} is not an integer", shown(token));
  return number;
}

double TokenReader::number() {
  std::string_view token = number_token();
  double number = 0;
  std::errc error = read_whole(token, number);
  if (error == std::errc::result_out_of_range) {
    fail("{} is outside the range of a double", shown(token));
  }
  if (error != std::errc()) fail("{} is not a number", shown(token));
  return number;
}

uint64_t TokenReader::hex() {
  std::string_view token = number_token();
  uint64_t number = 0;
  if (!token.starts_with("0x") ||
      read_whole(token.substr(2), number, 16) != std::errc()) {
    fail("{} is not a 64-bit number such as 0x12ab", shown(token));
  }
  return number;
}

Ints TokenReader::integers() {
  Ints list;
  expect('[');
  if (take(']')) return list;
  list.push_back(integer());
  while (!take(']')) {
    expect(',');
    list.push_back(integer());
  }
  return list;
}

Attr TokenReader::attr() {
  switch (peek()) {
    case '"': return quoted();
    case '[': return integers();
    default: return plain_attr();
  }
}

Attr TokenReader::plain_attr() {
  size_t begin = at_;
  std::string_view token = number_token();
  if (token == "true") return true;
  if (token == "false") return false;
  at_ = begin;
  bool is_double = token.find_first_of(".eEnN") != std::string_view::npos;
  return is_double ? Attr(number()) : Attr(integer());
}

void TokenReader::fail_expected(std::string_view what) {
  std::string_view rest = done() ? std::string_view() : line_.substr(at_);
  fail("expected {} at column {}, found {}", what, at_ + 1,
       rest.empty() ? "the end of the line" : shown(rest));
}

}  // namespace braid
