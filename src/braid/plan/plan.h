// A Plan: what is done about the memory of each segment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "braid/base/bytes.h"

namespace braid::plan {

// Activations between a segment's forward and its backward.
enum class Activations {
  kKeep,       // stay on the device
  kRecompute,  // only the segment's input stays; the rest is made again
  kOffload,    // go to the host and come back
};

enum class Parameters {
  kResident,  // on the device all the time
  kSpilled,   // on the host, fetched for each use
  kFile,      // in a file, read into host memory ahead of each use
};

// Optimizer state and the update of the segment's parameters.
enum class Update {
  kDevice,
  kHost,
  kHostFile,  // on the host; the state is read from a file and written back
  // On the host, without waiting for the norm of all gradients: what was there
  // is set aside until that is known, and comes back where it was too large.
  kHostAhead,
};

inline bool is_on_host(Update update) { return update != Update::kDevice; }
// Whether what the update works on stays in host memory.
inline bool is_in_host_memory(Update update) {
  return update == Update::kHost || update == Update::kHostAhead;
}

struct Decision {
  Activations activations = Activations::kKeep;
  Parameters parameters = Parameters::kResident;
  Update update = Update::kDevice;
  bool operator==(const Decision&) const = default;
};

// What goes first where a batch is cut into micro-batches.
enum class Order {
  kMicroBatches,  // each goes through the whole model before the next
  kLayers,        // all go through a segment before the next segment
};

inline constexpr Order kOrders[] = {Order::kMicroBatches, Order::kLayers};

struct Plan {
  // How many stages ahead fetches are issued, and how many stages an eviction
  // may take before it is awaited.
  int depth = 1;
  std::vector<Decision> segments;
  Order order = Order::kMicroBatches;
  // Most bytes that may be on the device before their stage has its turn:
  // fetches of a stage that would pass it wait until fewer stages are ahead.
  int64_t buffer_bytes = kNoLimit;
};

// Everything stays on the device.
Plan keep_all(size_t num_segments);

// The same decision for every segment.
Plan uniform(size_t num_segments, Decision decision, int depth = 1);

// What differs from keeping everything: "recompute,host", or "keep".
std::string short_text(const Decision& decision);

// "keep,resident,device" and back; throws on unknown words.
std::string decision_text(const Decision& decision);
Decision parse_decision(const std::string& text);

// "micro_batches", "layers".
std::string_view order_name(Order order);
Order parse_order(std::string_view text);

}  // namespace braid::plan
