#include "braid/io/file/guarded_range.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <mutex>

namespace braid::io {

// Entries are never freed, so that the handler can walk the list at any time;
// those that are not in use are taken again.
struct GuardedRange::Entry {
  std::atomic<bool> is_used = false;
  std::atomic<uintptr_t> begin = 0, end = 0;  // equal: no range
  std::atomic<bool> has_lost = false;
  Entry* next = nullptr;
};

namespace {

using Entry = GuardedRange::Entry;

static_assert(std::atomic<uintptr_t>::is_always_lock_free);

// A signal handler can reach nothing else.
std::atomic<Entry*> first_entry = nullptr;
uintptr_t page_bytes = 0;
struct sigaction earlier_action;

Entry* find_entry(uintptr_t address) {
  for (Entry* entry = first_entry; entry; entry = entry->next) {
    uintptr_t begin = entry->begin;
    bool holds = begin <= address && address < entry->end;
    if (holds && begin == entry->begin) return entry;
  }
  return nullptr;
}

// A file is cut at its end, so all that follows is gone too: one mapping for
// it is better than one for every page.
bool replace_by_zeros(const Entry& entry, uintptr_t address) {
  uintptr_t page = address - address % page_bytes;
  void* place = reinterpret_cast<void*>(page);
  return ::mmap(place, entry.end - page, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == place;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if (earlier_action.sa_flags & SA_SIGINFO) {
    earlier_action.sa_sigaction(signal, info, context);
  } else if (earlier_action.sa_handler != SIG_DFL &&
             earlier_action.sa_handler != SIG_IGN) {
    earlier_action.sa_handler(signal);
  } else {  // the same fault comes again and ends the process
    ::sigaction(SIGBUS, &earlier_action, nullptr);
  }
}

void handle_fault(int signal, siginfo_t* info, void* context) {
  int error = errno;
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  Entry* entry = info->si_code > 0 ? find_entry(address) : nullptr;
  if (entry && replace_by_zeros(*entry, address)) {
    entry->has_lost = true;
  } else {
    pass_on(signal, info, context);
  }
  errno = error;
}

void watch_faults() {
  static std::once_flag once;
  std::call_once(once, [] {
    page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction action = {};
    action.sa_sigaction = handle_fault;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigaction(SIGBUS, &action, &earlier_action);
  });
}

Entry* take_entry() {
  for (Entry* entry = first_entry; entry; entry = entry->next) {
    if (!entry->is_used.exchange(true)) return entry;
  }
  auto* entry = new Entry;
  entry->is_used = true;
  entry->next = first_entry;
  while (!first_entry.compare_exchange_weak(entry->next, entry)) {
  }
  return entry;
}

}  // namespace

GuardedRange::GuardedRange(std::span<const std::byte> bytes)
    : entry_(take_entry()) {
  watch_faults();
  auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  entry_->has_lost = false;
  entry_->begin = begin;
  entry_->end = begin + bytes.size();
}

GuardedRange::~GuardedRange() {
  entry_->end = 0;
  entry_->begin = 0;
  entry_->is_used = false;
}

bool GuardedRange::has_lost() const { return entry_->has_lost; }

}  // namespace braid::io
