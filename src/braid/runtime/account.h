// Account: the bytes of one device, charged before memory is taken. The limit
// is a promise: a charge that would pass it throws and changes nothing.
// Thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <mutex>
#include <string>

namespace braid::runtime {

class Account {
 public:
  explicit Account(std::string name,
                   int64_t limit_bytes = std::numeric_limits<int64_t>::max())
      : name_(std::move(name)), limit_(limit_bytes) {}

  // `what` names the purpose in the error.
  void charge(int64_t bytes, const std::string& what);
  bool try_charge(int64_t bytes);  // false: it would pass the limit
  void release(int64_t bytes);

  // For one that nothing was charged to yet.
  void set_limit(int64_t limit_bytes) { limit_ = limit_bytes; }
  const std::string& name() const { return name_; }
  int64_t limit_bytes() const { return limit_; }
  int64_t used_bytes() const;
  int64_t room_bytes() const;  // what a charge may still take
  int64_t peak_bytes() const;

 private:
  mutable std::mutex mutex_;
  std::string name_;
  int64_t limit_;
  int64_t used_ = 0;
  int64_t peak_ = 0;
};

}  // namespace braid::runtime
