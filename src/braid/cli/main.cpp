// `braid VERB ...`: reads the command line, runs the verb, and turns what it
// throws into one message on stderr and an exit code.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <new>
#include <sstream>
#include <system_error>
#include <typeinfo>

#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/cli/help_formatter.h"
#include "braid/cli/output.h"
#include "braid/cli/unknown_word.h"
#include "braid/cli/verbs/verb.h"
#include "braid/version.h"
#include "fmt/format.h"

namespace braid::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  braid train examples/glyphs_lenet.yaml --out runs/glyphs\n"
    "  braid resume runs/glyphs\n"
    "  braid inspect 'mlp(hidden=64)' --copies 3\n"
    "  braid step mlp --inputs batch.safetensors --steps 100 \\\n"
    "    --optimizer adamw --set lr=1e-3 --out runs/first\n"
    "\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.\n";

struct Verb {
  const char* name;
  const char* summary;
  Action (*add)(CLI::App& app);
};

constexpr Verb kVerbs[] = {
    {"train", "Train what job files describe, many jobs as one", add_train},
    {"resume", "Go on with a run, or with several jobs", add_resume},
    {"worker", "Train jobs of a folder that several hosts share", add_worker},
    {"validate", "Check job files without running them", add_validate},
    {"export", "Write the weights of a run as a state dict", add_export},
    {"eval", "Count metrics of a run's weights on any data", add_eval},
    {"predict", "Write what a run's weights say about data", add_predict},
    {"runs", "Show how runs stand, best first", add_runs},
    {"plan", "Show what is done about memory, and why", add_plan},
    {"simulate", "Show how jobs would go through a cluster", add_simulate},
    {"bench", "Measure this machine", add_bench},
    {"step", "Run training steps on given tensors", add_step},
    {"inspect", "Show what a model's step consists of", add_inspect},
};

// The message as it is when it says who speaks; libtorch's ends where its
// stack begins.
std::string message_text(std::string_view what) {
  what = what.substr(0, what.find("\nException raised from"));
  while (what.ends_with('\n')) what.remove_suffix(1);
  std::string text = printable_message(what);
  return what.starts_with('[') ? text : fmt::format("[braid] {}", text);
}

int report(int code, std::string_view what) {
  print_error("{}\n", message_text(what));
  return code;
}

std::string defect_text(const DefectError& error) {
  return fmt::format(
      "{}\nThis is a defect in Braid {}, not a mistake of yours.\n"
      "HINT: please report it with the command and the files it names",
      error.what(), kVersion);
}

// fmt::print() of others throws what finish_output() tells.
int report_unless_output(const std::system_error& error) {
  bool is_output = typeid(error) == typeid(std::system_error) &&
                   error.code().value() == output_error();
  return is_output ? kFailed : report(kFailed, error.what());
}

// The verb that was chosen, or the program itself.
const CLI::App& chosen_app(const CLI::App& app) {
  auto verbs = app.get_subcommands();
  return verbs.empty() ? app : *verbs.front();
}

std::string command_name(const CLI::App& app) {
  return app.get_parent() ? "braid " + app.get_name() : "braid";
}

int report_parse_error(const CLI::App& app, const CLI::ParseError& error,
                       const std::vector<std::string>& arguments) {
  std::vector<std::string> extra = app.remaining(true);
  // A folder that stands behind a wrong verb may have the name of another.
  bool is_verb = !extra.empty() && extra.front() == arguments.front();
  const CLI::App& chosen = is_verb ? app : chosen_app(app);
  std::string who = command_name(chosen), problem = error.what();
  std::string hint = fmt::format("see '{} --help'", who);
  bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if ((is_extra || is_verb) && !extra.empty()) {
    problem = fmt::format("'{}' was not expected", extra.front());
    hint = unknown_word_hint(app, chosen, extra.front(), arguments);
  }
  return report(kUsage, fmt::format("[{}] {}\nHINT: {}", who, problem, hint));
}

int run(int argc, char** argv) {
  CLI::App app(
      "Braid trains many models as one, and models larger than the "
      "device.");
  app.name("braid");
  app.set_version_flag("--version", fmt::format("braid {}", kVersion));
  app.set_help_flag("-h,--help", "Print this help");
  app.footer(kExamples);
  app.formatter(std::make_shared<HelpFormatter>());
  std::map<const CLI::App*, Action> actions;
  for (const Verb& verb : kVerbs) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    actions[sub] = verb.add(*sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // help and version
    std::ostringstream text;
    int code = app.exit(wanted, text, text);
    write_text(stdout, text.str());
    return code;
  } catch (const CLI::ParseError& error) {
    return report_parse_error(app, error, {argv + 1, argv + argc});
  }
  auto verbs = app.get_subcommands();
  if (verbs.empty()) {
    print("{}", app.help());
    return kUsage;
  }
  return actions.at(verbs.front())();
}

int run_or_report(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::invalid_argument& error) {
    return report(kUsage, error.what());
  } catch (const DefectError& error) {
    return report(kDefect, defect_text(error));
  } catch (const std::bad_alloc&) {
    return report(kFailed, "[memory] this machine has no more memory to give");
  } catch (const std::system_error& error) {
    return report_unless_output(error);
  } catch (const std::exception& error) {
    return report(kFailed, error.what());
  }
}

}  // namespace
}  // namespace braid::cli

int main(int argc, char** argv) {
  using namespace braid::cli;
  prepare_streams();
  return finish_output(run_or_report(argc, argv));
}
