// Expressions of sizes, worked out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace braid::io::pt2 {

// "2*(s0 + 1)" with s0 = 3 is 8. Nothing when a symbol is not among `symbols`,
// when there is more than sums and products, or when the value is too large.
std::optional<int64_t> symbol_value(
    std::string_view text, const std::map<std::string, int64_t>& symbols);

}  // namespace braid::io::pt2
