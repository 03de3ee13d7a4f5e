// Errors: std::invalid_argument for the caller's mistake, std::runtime_error
// for the world's. Messages begin with the public name in brackets and quote
// the values; a line `HINT: ...` follows when a fix is known.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace braid {

// The caller gave something wrong.
template <class... Args>
[[noreturn]] void fail_usage(fmt::format_string<Args...> text, Args&&... args) {
  throw std::invalid_argument(fmt::format(text, std::forward<Args>(args)...));
}

// The world (a file, a device, a limit) did not do what was needed.
template <class... Args>
[[noreturn]] void fail_world(fmt::format_string<Args...> text, Args&&... args) {
  throw std::runtime_error(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace braid
