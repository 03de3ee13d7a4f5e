// A verb of the command line: one file declares its options and what it does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace braid::cli {

// Exit codes of the program.
inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;   // the world: a file, a device, a limit
inline constexpr int kUsage = 2;    // the command line, or a file it names
inline constexpr int kDefect = 70;  // a mistake in Braid itself
inline constexpr int kInterrupted = 130;

// What a verb does once its options were read; returns an exit code. Throws
// std::invalid_argument for kUsage, anything else for kFailed.
using Action = std::function<int()>;

// For options that are whole numbers: what is wrong with the text, or nothing.
std::string check_whole(const std::string& text);

// What an option like --memory-limit says: 512MiB; nothing when it is empty.
std::optional<int64_t> read_limit(const char* option, const std::string& text,
                                  const std::string& who);

Action add_inspect(CLI::App& app);
Action add_step(CLI::App& app);
Action add_train(CLI::App& app);
Action add_resume(CLI::App& app);
Action add_worker(CLI::App& app);
Action add_validate(CLI::App& app);
Action add_export(CLI::App& app);
Action add_eval(CLI::App& app);
Action add_predict(CLI::App& app);
Action add_runs(CLI::App& app);
Action add_plan(CLI::App& app);
Action add_bench(CLI::App& app);
Action add_simulate(CLI::App& app);

}  // namespace braid::cli
