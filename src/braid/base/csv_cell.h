// Cells of tables that are written as text.
#pragma once

#include <string>

namespace braid {

// The text as a cell of a table with commas: in quotes where it must be.
inline std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace braid
