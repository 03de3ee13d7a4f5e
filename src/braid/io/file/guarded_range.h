// GuardedRange: mapped bytes of a file that may lose its end meanwhile.
//
// Reading a page that a file does not have any more raises SIGBUS, which ends
// a process. Here such a page becomes zeros and the range remembers it: the
// reader goes on and asks later whether what it read was the file. A handler
// of the signal is all that a process has for this, so there is one list of
// ranges for the whole process; faults elsewhere go where they went before.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

namespace braid::io {

// Bytes that are mapped as long as this lives. Thread-safe.
class GuardedRange {
 public:
  explicit GuardedRange(std::span<const std::byte> bytes);
  ~GuardedRange();
  GuardedRange(const GuardedRange&) = delete;
  GuardedRange& operator=(const GuardedRange&) = delete;

  // Whether a page of it could not be read, and is zeros from then on.
  bool has_lost() const;

  struct Entry;

 private:
  Entry* entry_;
};

}  // namespace braid::io
