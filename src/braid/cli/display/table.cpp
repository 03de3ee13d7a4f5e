#include "braid/cli/display/table.h"

#include <algorithm>

#include "braid/cli/display/terminal.h"

namespace braid::cli {
namespace {

constexpr int kLeastFirst = 8;    // columns of the first column
constexpr int kWantedFirst = 24;  // before others are left out for it
constexpr int kGap = 2;

int width_of(const Column& column) {
  int width = std::max(text_width(column.title), column.least_width);
  for (const std::string& cell : column.cells) {
    width = std::max(width, text_width(cell));
  }
  return width;
}

// Of all columns but the first, with the gaps before them.
int width_of_others(const std::vector<Column>& columns) {
  int width = 0;
  for (size_t i = 1; i < columns.size(); ++i) {
    width += kGap + width_of(columns[i]);
  }
  return width;
}

bool drop_one(std::vector<Column>& columns) {
  auto last = std::ranges::max_element(columns, {}, &Column::spare);
  if (last->spare == 0) return false;
  columns.erase(last);
  return true;
}

std::string padded(const std::string& text, int width, bool at_right) {
  auto spaces = static_cast<size_t>(std::max(0, width - text_width(text)));
  std::string space(spaces, ' ');
  return at_right ? space + text : text + space;
}

std::string line_of(const std::vector<Column>& columns,
                    const std::vector<int>& widths, size_t row) {
  std::string line;
  for (size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    std::string cell = row == 0 ? column.title : column.cells[row - 1];
    if (i == 0) cell = without_middle(cell, widths[0]);
    line += std::string(kGap, ' ') + padded(cell, widths[i], column.is_number);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string without_middle(const std::string& text, int width) {
  if (text_width(text) <= width) return text;
  auto is_ascii = [](unsigned char c) { return c >= 0x20 && c < 0x7f; };
  if (width < 6 || !std::ranges::all_of(text, is_ascii)) {
    return fit_text(text, width);
  }
  auto kept = static_cast<size_t>(width - 2);
  size_t end = kept / 2;
  return text.substr(0, kept - end) + ".." + text.substr(text.size() - end);
}

std::vector<std::string> table_lines(std::vector<Column> columns, int width) {
  if (columns.empty()) return {};
  int wanted = std::min(width_of(columns[0]), kWantedFirst);
  auto room = [&] { return width - kGap - width_of_others(columns); };
  while (room() < wanted && drop_one(columns)) continue;
  std::vector<int> widths;
  for (const Column& column : columns) widths.push_back(width_of(column));
  widths[0] = std::min(widths[0], std::max(kLeastFirst, room()));
  std::vector<std::string> lines;
  for (size_t row = 0; row <= columns[0].cells.size(); ++row) {
    lines.push_back(fit_text(line_of(columns, widths, row), width));
  }
  return lines;
}

}  // namespace braid::cli
