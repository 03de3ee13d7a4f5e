// HelpFormatter: --help as CLI11 makes it, in lines that fit a terminal.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace braid::cli {

// The text with longer lines broken at blanks; what follows stands below the
// column in which options are explained.
std::string fit_lines(const std::string& text, size_t width, size_t column);

class HelpFormatter : public CLI::Formatter {
 public:
  static constexpr size_t kWidth = 80, kColumn = 32;

  HelpFormatter() { column_width(kColumn); }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return fit_lines(CLI::Formatter::make_help(app, std::move(name), mode),
                     kWidth, kColumn);
  }
};

}  // namespace braid::cli
