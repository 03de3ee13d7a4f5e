#include "braid/cli/verbs/verb.h"

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/base/numbers.h"
#include "fmt/format.h"

namespace braid::cli {

std::string check_whole(const std::string& text) {
  if (parse_whole(text)) return "";
  return fmt::format("'{}' is not a whole number", text);
}

std::optional<int64_t> read_limit(const char* option, const std::string& text,
                                  const std::string& who) {
  if (text.empty()) return std::nullopt;
  try {
    return parse_bytes(text);
  } catch (const std::invalid_argument&) {
    fail_usage(
        "[{}] {}: '{}' is no byte count\n"
        "HINT: write a number with an optional unit: 512MiB, 4GiB",
        who, option, text);
  }
}

}  // namespace braid::cli
