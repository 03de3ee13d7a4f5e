// Options of sources and transforms: declared in a table, given as text.
//
// A job file, the command line and C++ all give texts; the table says what
// each must be, so that errors, --help and docs/data.md agree.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid::data {

// An option as the table declares it.
struct Option {
  enum class Kind {
    kText,
    kPath,
    kWhole,    // 1 or more
    kCount,    // 0 or more
    kNumber,   // any finite number
    kFlag,     // true or false
    kChoice,   // one of `choices`
    kNumbers,  // "0.5" or "[0.49, 0.48, 0.45]"
    kNames,    // "a" or "[a, b]"
    kFiles,    // "x=images.npy" or "[x=images.npy, y=labels.npy]"
  };
  std::string name;
  Kind kind = Kind::kText;
  std::string value;  // the default; empty: absent unless given
  std::string meaning;
  std::vector<std::string> choices = {};
  bool required = false;
};

// "a whole number from 1": what an option takes, in words.
std::string kind_text(const Option& option);

// Options that many tables have.
Option limit_option();
Option seed_option(std::string meaning);
Option choice_option(std::string name, std::vector<std::string> choices,
                     std::string meaning);
// A row for options of any other name, which are texts().
Option any_option(std::string meaning);
bool takes_any_option(const std::vector<Option>& table);

using Texts = std::map<std::string, std::string>;

// The options of one table with their values, defaults included. Asking for
// one that is not in the table, of another kind, or absent is a mistake of
// the program and throws std::logic_error.
class Options {
 public:
  // Throws std::invalid_argument when a name is unknown, a value is not of
  // its kind or a required one is missing; `who` names the table in errors.
  // Relative paths are taken from `base`.
  Options(std::string who, std::vector<Option> table, const Texts& texts,
          std::filesystem::path base = {});

  // Whether it was given or has a default.
  bool has(std::string_view name) const;
  // Whether a text was given for it.
  bool is_given(std::string_view name) const;

  const std::string& text(std::string_view name) const;  // also of a choice
  std::filesystem::path path(std::string_view name) const;
  int64_t whole(std::string_view name) const;  // also of a count
  double number(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;
  std::vector<std::string> names(std::string_view name) const;
  std::vector<std::pair<std::string, std::filesystem::path>> files(
      std::string_view name) const;

  const std::string& who() const { return who_; }
  // All values as text, for the record of a run.
  const Texts& texts() const { return values_; }

 private:
  const Option& option(std::string_view name) const;
  void set(const std::string& name, const std::string& text);

  std::string who_;
  std::vector<Option> table_;
  std::filesystem::path base_;
  Texts values_;
  std::vector<std::string> given_;
};

}  // namespace braid::data
