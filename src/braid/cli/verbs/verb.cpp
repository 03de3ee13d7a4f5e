#include "braid/cli/verbs/verb.h"

#include "braid/base/numbers.h"
#include "fmt/format.h"

namespace braid::cli {

std::string check_whole(const std::string& text) {
  if (parse_whole(text)) return "";
  return fmt::format("'{}' is not a whole number", text);
}

}  // namespace braid::cli
