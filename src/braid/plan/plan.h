// A Plan: what is done about the memory of each segment.
#pragma once

#include <string>
#include <vector>

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
};

inline bool is_on_host(Update update) { return update != Update::kDevice; }

struct Decision {
  Activations activations = Activations::kKeep;
  Parameters parameters = Parameters::kResident;
  Update update = Update::kDevice;
  bool operator==(const Decision&) const = default;
};

struct Plan {
  // How many stages ahead fetches are issued, and how many stages an eviction
  // may take before it is awaited.
  int depth = 1;
  std::vector<Decision> segments;
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

}  // namespace braid::plan
