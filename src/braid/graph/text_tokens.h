// The small pieces of graph text: words, quoted names, numbers, lists. The
// functions write them; TokenReader reads them back from one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "braid/base/error.h"
#include "braid/graph/attrs.h"
#include "braid/graph/slot.h"

namespace braid {

// In quotes, with escapes for quotes, backslashes and control characters.
std::string quoted_text(std::string_view text);

// Bare where a statement stays clear, quoted otherwise.
std::string word_text(std::string_view word);

// The shortest text that reads back to the same bits; it always has a '.', an
// 'e', inf or nan, so that it is never taken for an integer.
std::string number_text(double number);

std::string attr_text(const Attr& attr);

// Reads one line from left to right, spaces and a final comment aside.
// Borrows the line. Everything throws "[graph text] line N: ..." when the text
// is not as asked.
class TokenReader {
 public:
  // `what` names the text in errors, and outlives this.
  TokenReader(std::string_view line, int64_t line_number,
              std::string_view what = "graph text")
      : line_(line), line_number_(line_number), what_(what) {}

  // Whether nothing is left.
  bool done();
  void expect_done();

  // The next character, or 0; it stays.
  char peek();

  // Takes a character or a word if it is next.
  bool take(char c);
  bool take_word(std::string_view word);
  void expect(char c);

  // A bare word; empty when there is none.
  std::string_view word();
  std::string quoted();
  // A bare word or a quoted name.
  std::string name();

  int64_t integer();
  double number();
  uint64_t hex();
  Ints integers();
  Attr attr();

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text,
                         Args&&... args) const {
    fail_usage("[{}] line {}: {}", what_, line_number_,
               fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  void skip_spaces();
  std::string_view peek_word();
  std::string_view number_token();
  Attr plain_attr();
  char escape();
  [[noreturn]] void fail_expected(std::string_view what);

  std::string_view line_;
  int64_t line_number_;
  std::string_view what_;
  size_t at_ = 0;
};

// A piece of foreign text, quoted and cut short, for error messages.
std::string shown(std::string_view text);

}  // namespace braid
