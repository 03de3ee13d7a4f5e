#include "braid/runtime/comm/store.h"

#include <charconv>

#include "braid/base/error.h"

namespace braid::runtime {

std::string Endpoint::text() const { return fmt::format("{}:{}", host, port); }

Endpoint parse_endpoint(const std::string& text) {
  size_t colon = text.rfind(':');
  if (colon != text.npos && colon > 0) {
    int port = 0;
    const char* end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data() + colon + 1, end, port);
    bool is_number = error == std::errc() && rest == end;
    if (is_number && port > 0 && port < 1 << 16) {
      return {text.substr(0, colon), port};
    }
  }
  fail_usage(
      "[store] '{}' is no address\nHINT: write HOST:PORT, as node1:29500",
      text);
}

std::optional<std::string> LocalStore::get(const std::string& key) {
  std::lock_guard lock(mutex_);
  auto found = words_.find(key);
  if (found == words_.end()) return std::nullopt;
  return found->second;
}

bool LocalStore::replace(const std::string& key, const std::string& expected,
                         const std::string& wanted) {
  std::lock_guard lock(mutex_);
  auto found = words_.find(key);
  if (found == words_.end() ? !expected.empty() : found->second != expected) {
    return false;
  }
  words_[key] = wanted;
  return true;
}

}  // namespace braid::runtime
