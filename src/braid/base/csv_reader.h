// Rows of comma-separated values (RFC 4180): cells may be quoted, "" within
// quotes is one, lines end with LF or CRLF, empty lines are skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace braid {

class CsvReader {
 public:
  // The text is borrowed; `who` and `file` begin and end errors.
  CsvReader(std::string_view text, char separator, std::string who,
            std::string file);

  // The next row; false at the end. Throws std::runtime_error for quotes
  // that are not closed or not alone in their cell.
  bool next(std::vector<std::string>& cells);

  // Where that row began, from 1.
  int64_t line() const { return line_; }

  // Throws "[who] expected ..., got ... (file, line n)".
  [[noreturn]] void fail(std::string_view expected, std::string_view got,
                         int64_t line, std::string_view hint = "") const;

 private:
  bool at_line_end() const;
  void skip_line_end();
  std::string read_cell();
  std::string read_quoted();

  std::string_view text_;
  char separator_;
  std::string who_;
  std::string file_;
  size_t at_ = 0;
  int64_t line_ = 0;
  int64_t next_line_ = 1;
};

}  // namespace braid
