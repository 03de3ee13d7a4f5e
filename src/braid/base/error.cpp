#include "braid/base/error.h"

#include <string_view>

namespace braid {
namespace {

constexpr std::string_view kHint = "\nHINT: ";

template <class Kind>
const ErrorParts* known_parts(const std::exception& error) {
  const auto* known = dynamic_cast<const ErrorOf<Kind>*>(&error);
  return known ? &known->parts() : nullptr;
}

}  // namespace

std::string ErrorParts::message() const {
  std::string whole =
      where.empty() ? text : fmt::format("[{}] {}", where, text);
  if (!hint.empty()) whole += std::string(kHint) + hint;
  return whole;
}

ErrorParts error_parts(const std::string& message) {
  ErrorParts parts;
  std::string_view rest = message;
  size_t end = rest.find("] ");
  if (rest.starts_with('[') && end != rest.npos) {
    parts.where = rest.substr(1, end - 1);
    rest.remove_prefix(end + 2);
  }
  size_t hint = rest.find(kHint);
  if (hint != rest.npos) {
    parts.hint = rest.substr(hint + kHint.size());
    rest = rest.substr(0, hint);
  }
  parts.text = rest;
  return parts;
}

ErrorParts parts_of(const std::exception& error) {
  for (const ErrorParts* parts : {known_parts<std::invalid_argument>(error),
                                  known_parts<std::runtime_error>(error),
                                  known_parts<std::logic_error>(error)}) {
    if (parts) return *parts;
  }
  return {.text = error.what()};
}

}  // namespace braid
