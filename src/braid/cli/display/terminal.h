// What a program must know of the terminal that it writes to.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace braid::cli {

// Whether lines can be drawn again in place: a terminal that is not "dumb".
bool can_redraw(std::FILE* out);

// Whether the locale's characters are UTF-8.
bool has_utf8();

// Columns: $COLUMNS, else what the terminal says, else 80. Asked each time,
// since windows change.
int terminal_width(std::FILE* out);

// Rows: $LINES, else what the terminal says, else 24.
int terminal_height(std::FILE* out);

// The columns that UTF-8 text takes.
int text_width(std::string_view text);

// The text as it may stand in one line of that many columns: cut between
// characters, and '?' for whatever would move the cursor or is no UTF-8.
std::string fit_text(std::string_view text, int width);

}  // namespace braid::cli
