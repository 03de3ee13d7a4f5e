#include "braid/base/device.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "braid/base/error.h"

namespace braid {
namespace {

constexpr size_t kMostDigits = 3;

std::optional<int> parse_index(std::string_view text) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || text.size() > kMostDigits) return std::nullopt;
  if (!std::ranges::all_of(text, is_digit)) return std::nullopt;
  return std::stoi(std::string(text));
}

}  // namespace

std::string kind_name(DeviceKind kind) {
  return kind == DeviceKind::kCpu ? "cpu" : "cuda";
}

std::string device_text(DeviceId id) {
  if (id == DeviceId{}) return "cpu";
  return fmt::format("{}:{}", kind_name(id.kind), id.index);
}

DeviceId parse_device(const std::string& text) {
  for (DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kCuda}) {
    std::string name = kind_name(kind);
    if (text == name) return {kind, 0};
    if (!text.starts_with(name + ":")) continue;
    std::optional<int> index =
        parse_index(std::string_view(text).substr(name.size() + 1));
    if (index) return {kind, *index};
  }
  fail_usage("[device] unknown device '{}'\nHINT: write cpu, cpu:1 or cuda:0",
             text);
}

}  // namespace braid
