#include "braid/cli/help_formatter.h"

#include <sstream>

namespace braid::cli {

std::string fit_lines(const std::string& text, size_t width, size_t column) {
  std::string fitted, line;
  std::istringstream lines(text);
  while (std::getline(lines, line)) {
    while (line.size() > width) {
      size_t blank = line.rfind(' ', width);
      // A word that is longer than the room for it stays whole.
      if (blank == line.npos || blank < column) break;
      fitted += line.substr(0, blank) + "\n";
      line = std::string(column, ' ') + line.substr(blank + 1);
    }
    fitted += line + "\n";
  }
  return fitted;
}

}  // namespace braid::cli
