#include "braid/base/bytes.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <thread>

#include "braid/base/error.h"

namespace braid {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr std::array<Unit, 10> kUnits = {{{"", 1},
                                          {"B", 1},
                                          {"KiB", 0x1p10},
                                          {"MiB", 0x1p20},
                                          {"GiB", 0x1p30},
                                          {"TiB", 0x1p40},
                                          {"KB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"TB", 1e12}}};

}  // namespace

int64_t parse_bytes(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  while (rest != end && *rest == ' ') ++rest;
  std::string_view unit(rest, static_cast<size_t>(end - rest));
  for (const Unit& u : kUnits) {
    double bytes = number * u.bytes;
    if (error == std::errc() && u.name == unit && bytes >= 0 &&
        bytes < 0x1p62) {
      return static_cast<int64_t>(std::llround(bytes));
    }
  }
  fail_usage(
      "[bytes] cannot read '{}' as a byte count\n"
      "HINT: write a number with an optional unit, such as 512MiB or 4GiB",
      text);
}

std::string bytes_text(int64_t bytes) {
  if (bytes < 10 * 1024) return fmt::format("{} B", bytes);
  double amount = static_cast<double>(bytes);
  for (const char* unit : {"KiB", "MiB", "GiB"}) {
    amount /= 1024;
    if (amount < 1000) return fmt::format("{:.2f} {}", amount, unit);
  }
  return fmt::format("{:.2f} TiB", amount / 1024);
}

int64_t machine_bytes() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<int64_t>(sysconf(_SC_PAGESIZE));
}

int machine_cores() {
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace braid
