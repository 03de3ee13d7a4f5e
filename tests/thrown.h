// What calls throw, as text.
#pragma once

#include <stdexcept>
#include <string>

namespace braid {

// The message of the error that the call throws; empty when it throws none.
// Errors of other types pass through.
template <class Error = std::invalid_argument, class Call>
std::string thrown_by(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace braid
