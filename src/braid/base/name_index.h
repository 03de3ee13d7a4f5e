// NameIndex: finds the number of a name in constant time, where lists of named
// things are long.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace braid {

class NameIndex {
 public:
  static constexpr int32_t kMissing = -1;

  // The first one counts when a name is added twice.
  void add(std::string_view name, int32_t number) {
    numbers_.emplace(name, number);
  }

  int32_t find(std::string_view name) const {
    auto at = numbers_.find(name);
    return at == numbers_.end() ? kMissing : at->second;
  }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> numbers_;
};

}  // namespace braid
