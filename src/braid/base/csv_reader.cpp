#include "braid/base/csv_reader.h"

#include <algorithm>

#include "braid/base/error.h"

namespace braid {

CsvReader::CsvReader(std::string_view text, char separator, std::string who,
                     std::string file)
    : text_(text),
      separator_(separator),
      who_(std::move(who)),
      file_(std::move(file)) {
  if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
}

void CsvReader::fail(std::string_view expected, std::string_view got,
                     int64_t line, std::string_view hint) const {
  fail_world("[{}] expected {}, got {} ({}, line {}){}{}", who_, expected, got,
             file_, line, hint.empty() ? "" : "\nHINT: ", hint);
}

bool CsvReader::at_line_end() const {
  return at_ == text_.size() || text_[at_] == '\n' ||
         text_.substr(at_, 2) == "\r\n";
}

void CsvReader::skip_line_end() {
  if (at_ == text_.size()) return;
  at_ += text_[at_] == '\r' ? 2 : 1;
  ++next_line_;
}

bool CsvReader::next(std::vector<std::string>& cells) {
  cells.clear();
  while (at_ < text_.size() && at_line_end()) skip_line_end();
  if (at_ == text_.size()) return false;
  line_ = next_line_;
  for (;;) {
    cells.push_back(read_cell());
    if (at_line_end()) break;
    ++at_;  // the separator
  }
  skip_line_end();
  return true;
}

std::string CsvReader::read_cell() {
  if (at_ < text_.size() && text_[at_] == '"') return read_quoted();
  size_t begin = at_;
  while (!at_line_end() && text_[at_] != separator_) ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

std::string CsvReader::read_quoted() {
  std::string cell;
  for (++at_;; at_ += 2) {
    size_t quote = text_.find('"', at_);
    if (quote == text_.npos) fail("a quote that closes", "none", line_);
    cell += text_.substr(at_, quote - at_);
    at_ = quote;
    if (text_.substr(quote, 2) != "\"\"") break;
    cell += '"';
  }
  next_line_ += std::ranges::count(cell, '\n');
  ++at_;
  if (!at_line_end() && text_[at_] != separator_) {
    fail("the end of a cell after its quote", "more", next_line_);
  }
  return cell;
}

}  // namespace braid
