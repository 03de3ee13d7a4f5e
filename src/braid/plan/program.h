// A Program: the straight list of instructions of one training step, with
// every byte placed. Simulator and Executor consume the same Program, so what
// is predicted is what runs.
//
// All memory of a step lies in one arena per device with offsets fixed here.
// Peak bytes are a function of the Program alone, never of timing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "braid/graph/graph.h"
#include "braid/plan/plan.h"

namespace braid::plan {

// Every allocation and every slot begins at a multiple of this.
inline constexpr int64_t kAlignment = 64;

// Where an allocation lies.
enum class Space {
  kArena,       // device memory of the step, at a planned offset
  kHostArena,   // host memory of the step, at a planned offset
  kDeviceSlot,  // a slot's storage on the device
  kHostSlot,    // a slot's storage on the host
  kDiskSlot,    // a slot's storage in a file
};

struct SpaceFacts {
  Space space;
  std::string_view name;
  bool is_arena;   // else the storage of a slot
  bool on_device;  // its bytes count against the device's limit
};

inline constexpr std::array<SpaceFacts, 5> kSpaces = {{
    {Space::kArena, "arena", true, true},
    {Space::kHostArena, "host_arena", true, false},
    {Space::kDeviceSlot, "device_slot", false, true},
    {Space::kHostSlot, "host_slot", false, false},
    {Space::kDiskSlot, "disk_slot", false, false},
}};

inline const SpaceFacts& facts(Space space) {
  return kSpaces[static_cast<size_t>(space)];
}

// What runs its instructions in order, beside the others.
enum class Stream {
  kCompute,
  kHostToDevice,
  kDeviceToHost,
  kHostUpdate,  // updates on the host
  kComm,        // collectives between ranks
  kDisk,
};

inline constexpr std::array<std::string_view, 6> kStreamNames = {
    "compute", "h2d", "d2h", "host", "comm", "disk"};
inline constexpr size_t kNumStreams = kStreamNames.size();

inline std::string_view stream_name(Stream stream) {
  return kStreamNames[static_cast<size_t>(stream)];
}

struct Allocation {
  Space space = Space::kArena;
  int64_t bytes = 0;
  int64_t offset = 0;   // within its arena
  SlotId slot = kNone;  // of the slot spaces
  std::string path;     // layer that it belongs to, for reports
  int32_t begin = 0;    // first and last instruction that may touch it
  int32_t end = 0;
  bool operator==(const Allocation&) const = default;
};

// A node bound to memory: an allocation per operand, kNone where there is none.
struct PlannedCall {
  NodeId node = kNone;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;  // assign and accumulate: the slot's
  int32_t workspace = kNone;
  bool operator==(const PlannedCall&) const = default;
};

enum class Opcode {
  kRun,         // a call
  kCopy,        // source -> target
  kWait,        // the stream goes on once the events it waits for are complete
  kCollective,  // a call that all ranks make together
  kDiskRead,    // file -> host memory
  kDiskWrite,   // host memory -> file
};

inline constexpr std::array<std::string_view, 6> kOpcodeNames = {
    "run", "copy", "wait", "collective", "disk_read", "disk_write"};

inline std::string_view opcode_name(Opcode opcode) {
  return kOpcodeNames[static_cast<size_t>(opcode)];
}

struct Instruction {
  Opcode opcode = Opcode::kRun;
  Stream stream = Stream::kCompute;
  int32_t call = kNone;
  int32_t source = kNone;
  int32_t target = kNone;
  int32_t event = kNone;  // what it completes
  // Events that must be complete before it starts. Streams other than compute
  // also wait for everything that compute was given before it.
  std::vector<int32_t> waits = {};

  bool moves_bytes() const {
    return opcode == Opcode::kCopy || opcode == Opcode::kDiskRead ||
           opcode == Opcode::kDiskWrite;
  }
  bool operator==(const Instruction&) const = default;
};

// The part of a step that works on one segment in one phase: what a scheduler
// may put between the parts of others. Units of the micro part run once for
// each micro-batch, those of the update part once a step.
struct Unit {
  Phase phase = Phase::kForward;
  int32_t segment = kNone;
  int32_t begin = 0, end = 0;  // instructions
  int64_t bytes_in = 0;        // copied to the device,
  int64_t bytes_out = 0;       // and from it
  int64_t bytes_read = 0;      // from a file,
  int64_t bytes_written = 0;   // and to it
  int64_t live_bytes = 0;      // of the arena, at its fullest moment
  bool operator==(const Unit&) const = default;
};

// Where a slot is stored between steps.
struct SlotStorage {
  bool device = true;
  bool host = false;
  bool disk = false;  // then nowhere else
  bool operator==(const SlotStorage&) const = default;
};

struct Program {
  explicit Program(Graph g) : graph(std::move(g)) {}

  Graph graph;  // with recomputed nodes
  int64_t micro_batches = 1;
  // Whether the instructions are those of all micro-batches. Then the graph's
  // inputs are, one group after the other, those of the last micro-batch, of
  // the first, of the second and so on, and a loss that is not of the last is
  // the output loss_output(micro).
  bool is_unrolled = false;
  std::vector<Instruction> instructions;
  int32_t update_begin = 0;  // first instruction of the update part
  std::vector<Unit> units;   // all instructions, in order
  std::vector<PlannedCall> calls;
  std::vector<Allocation> allocations;
  std::vector<SlotStorage> slots;
  std::vector<int32_t> inputs;   // allocations of graph.inputs(), in order
  std::vector<int32_t> outputs;  // allocations of graph.outputs(), in order
  // Where the gradient that an update reads lies on the device, and the call
  // that reads it.
  struct GradientUse {
    SlotId parameter = kNone;
    ValueId value = kNone;
    int32_t allocation = kNone;
    int32_t call = kNone;
    bool operator==(const GradientUse&) const = default;
  };
  std::vector<GradientUse> gradients;
  int32_t num_events = 0;
  int64_t arena_bytes = 0;
  int64_t host_arena_bytes = 0;

  const Allocation& allocation(int32_t id) const {
    return allocations[static_cast<size_t>(id)];
  }
  // How often the micro part runs, and the micro-batches that each run takes.
  int64_t num_passes() const { return is_unrolled ? 1 : micro_batches; }
  int64_t micro_per_pass() const { return is_unrolled ? micro_batches : 1; }
  // Whether micro part and update part run as one.
  bool is_one_part() const { return num_passes() == 1; }
  // Inputs that are given for each micro-batch, and where in graph.inputs()
  // those of one begin.
  size_t num_inputs() const {
    return inputs.size() / static_cast<size_t>(micro_per_pass());
  }
  size_t first_input(int64_t micro) const {
    if (!is_unrolled) return 0;
    return static_cast<size_t>((micro + 1) % micro_batches) * num_inputs();
  }
  size_t num_micro_units() const;

  int64_t device_slot_bytes() const;
  int64_t host_slot_bytes() const;
  int64_t disk_bytes() const;  // of the file that slots lie in
  // What the device's account will hold, exactly.
  int64_t peak_bytes() const { return arena_bytes + device_slot_bytes(); }
  int64_t host_bytes() const { return host_arena_bytes + host_slot_bytes(); }
};

// Of an unrolled program.
std::string loss_output(int64_t micro);

// Bytes that a slot takes in its space.
int64_t slot_bytes(const Slot& slot);

// Bytes at the fullest moment by layer, largest first, slots included.
struct LayerBytes {
  std::string path;
  int64_t bytes = 0;
};
std::vector<LayerBytes> bytes_by_layer(const Program& program);

// Arena bytes that are alive at each instruction.
std::vector<int64_t> live_bytes(const Program& program);

// Counts the bytes of every unit anew.
void measure_units(Program& program);

// What makes a step smaller that no plan makes small enough.
inline constexpr std::string_view kMemoryHint =
    "raise the limit, or take a smaller batch_size, accumulate: 2, "
    "precision: bf16,\n  or fewer jobs at once";
// The same where host memory has a limit too.
inline constexpr std::string_view kMemoryAndHostHint =
    "raise the limit, or host_limit, or take a smaller batch_size, "
    "accumulate: 2,\n  precision: bf16, or fewer jobs at once";
inline std::string_view memory_hint(int64_t host_limit_bytes) {
  return host_limit_bytes == kNoLimit ? kMemoryHint : kMemoryAndHostHint;
}

// The report for a limit that cannot be kept: planned, by layer, missing.
// `other_bytes` are those of slots that only other programs of the set have.
std::string limit_report(const Program& program, int64_t limit_bytes,
                         int64_t other_bytes = 0,
                         std::string_view hint = kMemoryHint);

}  // namespace braid::plan
