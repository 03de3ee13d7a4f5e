#include "braid/runtime/account.h"

#include <algorithm>

#include "braid/base/bytes.h"
#include "braid/base/error.h"

namespace braid::runtime {

void Account::charge(int64_t bytes, const std::string& what) {
  if (try_charge(bytes)) return;
  std::lock_guard lock(mutex_);
  fail_world(
      "[memory] {} of {} bytes do not fit on {}: {} of {} bytes are in use, "
      "{} bytes short",
      what, bytes, name_, used_, limit_, bytes - (limit_ - used_));
}

bool Account::try_charge(int64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > limit_ - used_) return false;
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return true;
}

void Account::release(int64_t bytes) {
  std::lock_guard lock(mutex_);
  used_ -= bytes;
}

int64_t Account::used_bytes() const {
  std::lock_guard lock(mutex_);
  return used_;
}

int64_t Account::room_bytes() const {
  std::lock_guard lock(mutex_);
  return limit_ - used_;
}

int64_t Account::peak_bytes() const {
  std::lock_guard lock(mutex_);
  return peak_;
}

}  // namespace braid::runtime
