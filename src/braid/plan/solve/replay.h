// Replay: the time and the bytes of one plan of an Instance, in whole numbers.
//
// The schedule is static with gates. With depth d, slot p opens when slot p-1
// has computed and what slots before p-d evicted is gone; then the fetch for
// slot p+d is issued. So bytes are a function of the plan alone, whatever the
// times turn out to be. A transfer, gather, scatter or update of 0 ns is none.
#pragma once

#include <array>
#include <span>

#include "braid/plan/program.h"
#include "braid/plan/solve/instance.h"

namespace braid::plan {

struct StreamUse {
  int64_t busy_ns = 0;    // sum of what it does
  int64_t finish_ns = 0;  // when its last work ends
};

struct SlotTimes {
  int64_t open_ns = 0;   // when its gate opened
  int64_t begin_ns = 0;  // of computing
  int64_t end_ns = 0;
  int64_t bytes = 0;  // on the device
};

// What one plan does.
struct Timeline {
  int64_t time_ns = 0;
  int64_t peak_bytes = 0;
  int64_t host_bytes = 0;
  int binding_slot = 0;  // the first one with the peak
  std::vector<SlotTimes> slots = {};
  std::array<StreamUse, kNumStreams> streams = {};  // by Stream

  bool fits(const Instance& instance) const {
    return peak_bytes <= instance.device_bytes &&
           host_bytes <= instance.host_bytes;
  }
};

// The segment that a slot belongs to.
inline int segment_of_slot(int slot, int num_segments) {
  return slot < num_segments ? slot : 2 * num_segments - 1 - slot;
}

// `modes` has a row for each segment; the instance is one that was checked.
Timeline replay(const Instance& instance, int depth,
                std::span<const int32_t> modes);

// Bytes on the device in each slot.
std::vector<int64_t> slot_bytes(const Instance& instance, int depth,
                                std::span<const int32_t> modes);

}  // namespace braid::plan
