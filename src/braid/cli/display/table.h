// Tables for a terminal: columns as wide as what stands in them, fitted to the
// width there is. Pure functions.
#pragma once

#include <string>
#include <vector>

namespace braid::cli {

struct Column {
  std::string title = {};
  std::vector<std::string> cells = {};  // one per row
  bool is_number = false;               // stands at the right
  int least_width = 0;                  // so that changing cells do not jump
  // Columns with larger numbers are left out first where there is no room; 0:
  // never.
  int spare = 0;
};

// A line of titles and one per row. The first column is shortened when all
// others are needed: its cells lose their middle. No line is wider than
// `width`, and none has characters that move the cursor.
std::vector<std::string> table_lines(std::vector<Column> columns, int width);

// The text in so many columns: "lr=0.001..seed=12".
std::string without_middle(const std::string& text, int width);

}  // namespace braid::cli
