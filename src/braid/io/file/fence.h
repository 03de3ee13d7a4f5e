// Fence: whether what this process writes still counts. Where several hosts
// share a folder, somebody else may have taken over what a process does while
// it was not heard of; when it comes back it must write nothing.
#pragma once

#include <cstdint>

namespace braid::io {

// Thread-safe.
class Fence {
 public:
  virtual ~Fence() = default;

  // Throws std::runtime_error once somebody else may have taken over. Called
  // before everything that is written.
  virtual void check() const = 0;

  // That of the present one is higher than those of all before.
  virtual int64_t number() const = 0;
};

}  // namespace braid::io
