// The options of a verb as rows: name, value, type and meaning in --help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "braid/cli/verbs/verb.h"

namespace braid::cli {

// Adds rows to a verb, which it borrows: add("--out", out, "DIR", "To write").
class AddOption {
 public:
  explicit AddOption(CLI::App& app) : app_(app) {}

  template <class T>
  CLI::Option* operator()(const char* name, T& value, const char* type,
                          const char* text) const {
    return app_.add_option(name, value, text)->type_name(type);
  }

  template <class T>
  void whole(const char* name, T& value, const char* type,
             const char* text) const {
    (*this)(name, value, type, text)->check(check_whole);
  }

  // One value each time the option stands there.
  template <class T>
  void repeated(const char* name, T& value, const char* type,
                const char* text) const {
    (*this)(name, value, type, text)->allow_extra_args(false);
  }

  // What trains a .pt2 file that has no loss of its own.
  void loss(std::string& loss, std::string& output, std::string& target) const {
    (*this)("--loss", loss, "NAME", "Of a .pt2 file that has none");
    (*this)("--output", output, "NAME", "What that loss is of (the first)");
    (*this)("--target", target, "NAME", "The input that it is compared with");
  }

 private:
  CLI::App& app_;
};

}  // namespace braid::cli
