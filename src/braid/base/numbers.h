// Numbers as people write them in JSON, YAML and on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace braid {

// 3, -0.5, 1e-4, +2, .5, inf, .inf, nan; nothing when it is no number.
std::optional<double> parse_number(std::string_view text);

// A whole number of 64 bits; nothing when it is none.
std::optional<int64_t> parse_whole(std::string_view text);

// true, false, 1, 0; nothing otherwise.
std::optional<bool> parse_flag(std::string_view text);

// The shortest text that reads back to the same number, here and in any YAML
// reader: 0.001, 1.0e-08, .inf
std::string yaml_number(double number);

}  // namespace braid
