#include "braid/runtime/scratch_reserve.h"

#include "braid/base/error.h"

namespace braid::runtime {

Account& ScratchReserve::charge(int64_t bytes) {
  was_used_ = true;
  std::string left;
  for (Account* account : accounts_) {
    if (account->try_charge(bytes)) return *account;
    left += fmt::format("{}{} on {}", left.empty() ? "" : " and ",
                        account->room_bytes(), account->name());
  }
  fail_world(
      "[memory] a call needs {} bytes more than were planned for it: there are "
      "{} left\nHINT: raise memory_limit or host_limit",
      bytes, left);
}

}  // namespace braid::runtime
