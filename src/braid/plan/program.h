// A Program: the straight list of instructions of one training step, with
// every byte placed. Simulator and Executor consume the same Program, so what
// is predicted is what runs.
//
// All memory of a step lies in one arena per device with offsets fixed here.
// Peak bytes are a function of the Program alone, never of timing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "braid/graph/graph.h"
#include "braid/plan/plan.h"

namespace braid::plan {

// Every allocation and every slot begins at a multiple of this.
inline constexpr int64_t kAlignment = 64;

enum class Space {
  kArena,       // device memory of the step, at a planned offset
  kHostArena,   // host memory of the step, at a planned offset
  kDeviceSlot,  // a slot's storage on the device
  kHostSlot,    // a slot's storage on the host
};

struct Allocation {
  Space space = Space::kArena;
  int64_t bytes = 0;
  int64_t offset = 0;   // within its arena
  SlotId slot = kNone;  // of the slot spaces
  std::string path;     // layer that it belongs to, for reports
  int32_t begin = 0;    // first and last instruction that may touch it
  int32_t end = 0;
};

// A node bound to places: allocation per operand, kNone where there is none.
struct Call {
  NodeId node = kNone;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;  // assign and accumulate: the slot's place
  int32_t workspace = kNone;
};

enum class Kind {
  kRun,      // call on the compute stream
  kHostRun,  // call on the host-update stream
  kFetch,    // host source -> device target, on the h2d stream
  kEvict,    // device source -> host target, on the d2h stream
  kWait,     // the compute stream waits for event
};

struct Instruction {
  Kind kind = Kind::kRun;
  int32_t call = kNone;
  int32_t source = kNone;
  int32_t target = kNone;
  int32_t event = kNone;  // what it completes, or awaits
  int32_t after = kNone;  // event that must be complete before it starts
};

// Where a slot is stored between steps.
struct SlotPlace {
  bool device = true;
  bool host = false;
};

struct Program {
  explicit Program(Graph g) : graph(std::move(g)) {}

  Graph graph;  // with recomputed nodes
  int64_t micro_batches = 1;
  std::vector<Instruction> instructions;
  int32_t update_begin = 0;  // first instruction of the update part
  std::vector<Call> calls;
  std::vector<Allocation> allocations;
  std::vector<SlotPlace> slots;
  std::vector<int32_t> input_places;   // of graph.inputs(), in order
  std::vector<int32_t> output_places;  // of graph.outputs(), in order
  // Where the gradient that an update reads lies on the device, and the call
  // that reads it.
  struct GradientPlace {
    SlotId parameter = kNone;
    ValueId value = kNone;
    int32_t place = kNone;
    int32_t call = kNone;
  };
  std::vector<GradientPlace> gradients;
  int32_t num_events = 0;
  int64_t arena_bytes = 0;
  int64_t host_arena_bytes = 0;

  int64_t device_slot_bytes() const;
  int64_t host_slot_bytes() const;
  // What the device's account will hold, exactly.
  int64_t peak_bytes() const { return arena_bytes + device_slot_bytes(); }
  int64_t host_bytes() const { return host_arena_bytes + host_slot_bytes(); }
};

// Bytes that a slot takes in its space.
int64_t slot_bytes(const Slot& slot);

// Bytes at the fullest moment by layer, largest first, slots included.
struct LayerBytes {
  std::string path;
  int64_t bytes = 0;
};
std::vector<LayerBytes> bytes_by_layer(const Program& program);

// The report for a limit that cannot be kept: planned, by layer, missing.
std::string limit_report(const Program& program, int64_t limit_bytes);

}  // namespace braid::plan
