#include "braid/cli/log_options.h"

#include <CLI/CLI.hpp>
#include <map>

namespace braid::cli {
namespace {

using train::LogLevel;

const std::map<std::string, LogLevel>& levels() {
  static const std::map<std::string, LogLevel> known{
      {"error", LogLevel::kError},
      {"warning", LogLevel::kWarning},
      {"info", LogLevel::kInfo},
      {"debug", LogLevel::kDebug}};
  return known;
}

}  // namespace

LogLevel LogOptions::shown() const {
  if (quiet) return LogLevel::kError;
  return verbose ? LogLevel::kDebug : levels().at(level);
}

void declare_log_options(CLI::App& app, LogOptions& options) {
  CLI::Option* quiet = app.add_flag("-q,--quiet", options.quiet,
                                    "Only errors and the last line");
  CLI::Option* verbose =
      app.add_flag("-v,--verbose", options.verbose,
                   "Also what is being prepared: --log-level debug");
  CLI::Option* level =
      app.add_option("--log-level", options.level,
                     "Messages: error, warning, info or debug (info)")
          ->type_name("LEVEL")
          ->check(CLI::IsMember({"error", "warning", "info", "debug"}));
  verbose->excludes(quiet);
  level->excludes(quiet)->excludes(verbose);
}

}  // namespace braid::cli
