#include "braid/runtime/machine.h"

#include <algorithm>
#include <cctype>

#include "braid/base/error.h"

namespace braid::runtime {

std::string device_name(const std::string& text) {
  constexpr std::string_view kCuda = "cuda:";
  constexpr size_t kMostDigits = 3;
  std::string name = text == "cuda" ? "cuda:0" : text;
  bool is_cuda = name.starts_with(kCuda) && name.size() > kCuda.size() &&
                 name.size() <= kCuda.size() + kMostDigits &&
                 std::all_of(name.begin() + kCuda.size(), name.end(),
                             [](unsigned char c) { return std::isdigit(c); });
  if (name != "cpu" && !is_cuda) {
    fail_usage("[device] unknown device '{}'\nHINT: write cpu or cuda:0", text);
  }
  return name;
}

}  // namespace braid::runtime
