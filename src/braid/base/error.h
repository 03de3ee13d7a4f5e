// Errors: UsageError for the caller's mistake, WorldError for a file, a device
// or a limit, DefectError for a mistake in Braid itself. Each has parts: who
// speaks, what is wrong, and what to do about it when that is known:
//
//   [array.add] expected 10 classes, got 12
//   HINT: ...
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace braid {

struct ErrorParts {
  std::string where = {};  // "array.add"; may be empty
  std::string text = {};
  std::string hint = {};  // what to do; may be empty

  std::string message() const;
};

// The parts of a message as it is written at a throw.
ErrorParts error_parts(const std::string& message);

// An error that knows its parts, of one of the standard kinds.
template <class Kind>
class ErrorOf : public Kind {
 public:
  explicit ErrorOf(ErrorParts parts)
      : Kind(parts.message()), parts_(std::move(parts)) {}
  const ErrorParts& parts() const { return parts_; }

 private:
  ErrorParts parts_;
};

using UsageError = ErrorOf<std::invalid_argument>;
using WorldError = ErrorOf<std::runtime_error>;
using DefectError = ErrorOf<std::logic_error>;

// The parts of any error; one of another library is all text.
ErrorParts parts_of(const std::exception& error);

// The caller gave something wrong.
template <class... Args>
[[noreturn]] void fail_usage(fmt::format_string<Args...> text, Args&&... args) {
  throw UsageError(error_parts(fmt::format(text, std::forward<Args>(args)...)));
}

// The world (a file, a device, a limit) did not do what was needed.
template <class... Args>
[[noreturn]] void fail_world(fmt::format_string<Args...> text, Args&&... args) {
  throw WorldError(error_parts(fmt::format(text, std::forward<Args>(args)...)));
}

// Something that must hold does not: Braid has a defect.
template <class... Args>
[[noreturn]] void fail_defect(fmt::format_string<Args...> text,
                              Args&&... args) {
  throw DefectError(
      error_parts(fmt::format(text, std::forward<Args>(args)...)));
}

}  // namespace braid
