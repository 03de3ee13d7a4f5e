// Memory for calls that need more scratch than was planned for them: its
// measure was a trial, and some operators take more for other numbers.
#pragma once

#include <atomic>
#include <vector>

#include "braid/runtime/account.h"

namespace braid::runtime {

// Of calls of one program. Thread-safe. Borrows the accounts.
class ScratchReserve {
 public:
  explicit ScratchReserve(std::vector<Account*> accounts)
      : accounts_(std::move(accounts)) {}

  // Charges the first account whose limit leaves room for it, and gives it back
  // to be released. Throws when none does.
  Account& charge(int64_t bytes);

  bool was_used() const { return was_used_; }

 private:
  std::vector<Account*> accounts_;
  std::atomic<bool> was_used_ = false;
};

}  // namespace braid::runtime
