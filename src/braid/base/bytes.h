// Byte counts in words: "4GiB" <-> 4294967296.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace braid {

// Reads "512", "64KiB", "1.5 GiB", "200MB"; throws on anything else.
int64_t parse_bytes(std::string_view text);

// "3.91 GiB"; exact bytes below 10 KiB.
std::string bytes_text(int64_t bytes);

// More than there can be: no limit at all.
inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// Smallest multiple of `alignment` that is >= bytes.
constexpr int64_t align_up(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// Memory and cores of this machine.
int64_t machine_bytes();
int machine_cores();

}  // namespace braid
