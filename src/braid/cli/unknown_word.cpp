#include "braid/cli/unknown_word.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>

#include "braid/base/text.h"
#include "braid/train/job/job_keys.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace braid::cli {
namespace {

using Words = std::vector<std::string>;

// A word as "--lr=0.1", "--lr" with what follows it, or "lr=0.1".
struct Given {
  std::string name;   // "lr"
  std::string value;  // "0.1"; may be empty
  bool is_option = false;
};

Given given_of(const std::string& word, const Words& arguments) {
  Given given;
  size_t dashes = std::min(word.find_first_not_of('-'), word.size());
  given.is_option = dashes > 0;
  size_t equals = word.find('=', dashes);
  given.name = word.substr(dashes, equals - dashes);
  if (equals != word.npos) {
    given.value = word.substr(equals + 1);
    return given;
  }
  auto at = std::ranges::find(arguments, word);
  bool has_next = given.is_option && at != arguments.end() &&
                  at + 1 != arguments.end() && !(at + 1)->starts_with('-');
  // A job file or folder that follows is none.
  if (has_next && (at + 1)->find('/') == word.npos &&
      !(at + 1)->ends_with(".yaml")) {
    given.value = *(at + 1);
  }
  return given;
}

Words options_of(const CLI::App& app) {
  Words names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
    for (const std::string& name : option->get_snames()) {
      names.push_back("-" + name);
    }
  }
  return names;
}

bool has(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

// Whether values of a job may stand behind what the verb is given.
bool takes_values(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_positional() && option->get_items_expected_max() > 1) {
      return true;
    }
  }
  return false;
}

std::string dashed(std::string key) {
  std::ranges::replace(key, '_', '-');
  return "--" + key;
}

// Keys of a job that an option of the verb is for: "optimizer.lr" is --set of
// 'braid step'.
std::string as_option(const CLI::App& verb, const std::string& key,
                      std::string value) {
  static const std::map<std::string, std::string> others = {
      {"epochs", "--steps"},         {"optimizer.kind", "--optimizer"},
      {"init.file", "--init"},       {"checkpoint.every", "--checkpoint-every"},
      {"data.source", "--inputs"},   {"members", "--members"},
      {"eval.metrics", "--metrics"}, {"eval.batch_size", "--batch-size"},
      {"eval.limit", "--limit"}};
  static const std::map<std::string, std::string> settings = {
      {"clip.norm", "clip_norm"},
      {"clip.value", "clip_value"},
      {"ema", "ema_decay"}};
  Words known = options_of(verb);
  if (value.empty()) value = "VALUE";
  auto setting = settings.find(key);
  bool is_set = setting != settings.end() ||
                (key.starts_with("optimizer.") && key != "optimizer.kind");
  if (is_set && has(known, "--set")) {
    std::string name =
        setting == settings.end() ? key.substr(10) : setting->second;
    return fmt::format("--set {}={}", name, value);
  }
  auto other = others.find(key);
  std::string option = other == others.end() ? dashed(key) : other->second;
  return has(known, option) ? fmt::format("{} {}", option, value) : "";
}

// Options of people who know other programs.
std::string other_option(const CLI::App& verb, const std::string& name) {
  static const std::map<std::string, Words> others = {
      {"o", {"--out", "--to"}},
      {"output-dir", {"--out"}},
      {"out-dir", {"--out"}},
      {"outdir", {"--out"}},
      {"dir", {"--out"}},
      {"out", {"--out", "--to"}},
      {"output", {"--output", "--to", "--out"}},
      {"to", {"--to", "--out"}},
      {"file", {"--to", "--inputs"}},
      {"inputs", {"--inputs", "--data"}},
      {"input", {"--inputs", "--data"}},
      {"data", {"--data", "--inputs"}},
      {"weights", {"--init"}},
      {"metric", {"--metrics"}},
      {"checkpoint", {"--step"}},
      {"epoch", {"--step"}},
      {"limit", {"--limit"}},
      {"format", {"--json"}}};
  auto found = others.find(name);
  if (found == others.end()) return "";
  Words known = options_of(verb);
  for (const std::string& option : found->second) {
    if (has(known, option) && option != "--" + name) return option;
  }
  return "";
}

// The verbs that have an option of that name.
Words verbs_with(const CLI::App& program, const std::string& option) {
  Words verbs;
  for (const CLI::App* verb : program.get_subcommands({})) {
    if (has(options_of(*verb), option)) {
      verbs.push_back(fmt::format("'braid {}'", verb->get_name()));
    }
  }
  return verbs;
}

std::string list_of(const CLI::App& verb) {
  Words known;
  for (const std::string& name : options_of(verb)) {
    if (name.starts_with("--") && name != "--help") known.push_back(name);
  }
  return known.empty()
             ? fmt::format("'braid {}' has no options", verb.get_name())
             : fmt::format("'braid {}' has {}", verb.get_name(),
                           fmt::join(known, ", "));
}

// A verb that was meant, else all of them.
std::string verb_hint(const CLI::App& program, const std::string& word) {
  Words verbs;
  for (const CLI::App* verb : program.get_subcommands({})) {
    verbs.push_back(verb->get_name());
  }
  if (has(options_of(program), word)) return "see 'braid --help'";
  static const std::map<std::string, std::string> others = {
      {"fit", "train"},     {"run", "train"},      {"evaluate", "eval"},
      {"test", "eval"},     {"check", "validate"}, {"show", "inspect"},
      {"infer", "predict"}, {"save", "export"},    {"continue", "resume"},
      {"list", "runs"},     {"ls", "runs"},        {"results", "runs"}};
  auto other = others.find(word);
  std::string near =
      other == others.end() ? near_name(word, verbs) : other->second;
  if (!near.empty()) return fmt::format("did you mean '{}'?", near);
  if (word.starts_with('-')) return "options come after a verb: braid VERB ...";
  return fmt::format("there are {}", fmt::join(verbs, ", "));
}

// The way to say a key of a job to this verb; empty: there is none.
std::string key_hint(const CLI::App& verb, const Given& given) {
  std::string key = train::find_job_key(given.name);
  if (key.empty()) return "";
  std::string word = train::job_word(given.name, given.value);
  std::string value = word.substr(word.find('=') + 1);
  std::string option = as_option(verb, key, value == "VALUE" ? "" : value);
  if (takes_values(verb)) {
    return fmt::format("write {}", word);
  }
  if (!option.empty()) return fmt::format("write {}", option);
  if (verb.get_name() == "resume") {
    return fmt::format(
        "a run goes on with what its config.yaml says: change '{}' there", key);
  }
  return "";
}

}  // namespace

std::string unknown_word_hint(const CLI::App& program, const CLI::App& verb,
                              const std::string& word, const Words& arguments) {
  if (&program == &verb) return verb_hint(program, word);
  Given given = given_of(word, arguments);
  bool says_value = given.is_option || !given.value.empty();
  std::string other = given.is_option ? other_option(verb, given.name) : "";
  if (!other.empty()) return fmt::format("did you mean '{}'?", other);
  std::string key = says_value ? key_hint(verb, given) : "";
  if (!key.empty()) return key;
  if (!given.is_option) {
    return fmt::format("see 'braid {} --help'", verb.get_name());
  }
  std::string option = (word.starts_with("--") ? "--" : "-") + given.name;
  std::string near = near_name(option, options_of(verb));
  Words verbs = verbs_with(program, option);
  if (!verbs.empty()) {
    return fmt::format("{} is an option of {}; {}", option,
                       fmt::join(verbs, ", "), list_of(verb));
  }
  if (!near.empty()) return fmt::format("did you mean '{}'?", near);
  return list_of(verb);
}

}  // namespace braid::cli
