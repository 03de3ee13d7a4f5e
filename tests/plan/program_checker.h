// Checks a Program without knowing how it was compiled: it walks the
// instructions and asks of memory, order and contents what must hold however
// long anything takes.
#pragma once

#include <string>
#include <vector>

#include "braid/ops/core/op.h"
#include "braid/plan/program.h"

namespace braid::plan {

inline bool is_run(const Instruction& i) {
  return i.opcode == Opcode::kRun && i.stream == Stream::kCompute;
}
inline bool is_host_run(const Instruction& i) {
  return i.opcode == Opcode::kRun && i.stream == Stream::kHostUpdate;
}
inline bool is_fetch(const Instruction& i) {
  return i.opcode == Opcode::kCopy && i.stream == Stream::kHostToDevice;
}
inline bool is_evict(const Instruction& i) {
  return i.opcode == Opcode::kCopy && i.stream == Stream::kDeviceToHost;
}
inline bool is_disk_read(const Instruction& i) {
  return i.opcode == Opcode::kDiskRead;
}
inline bool is_disk_write(const Instruction& i) {
  return i.opcode == Opcode::kDiskWrite;
}
inline bool is_wait(const Instruction& i) { return i.opcode == Opcode::kWait; }

// Problems, one line each and at most a few; none when
// - every stream uses only the memory that it reaches;
// - every place is used within its lifetime, and no two that are alive at one
//   instruction overlap;
// - all events complete once, are awaited only after they were issued, and
//   all are awaited before a pass ends;
// - any two uses of one memory, of which one writes, are ordered by streams
//   and events alone;
// - every call finds the values of the graph in its operands, and slots and
//   outputs end with the content that the graph gives them.
std::vector<std::string> problems_of(const OpTable& ops,
                                     const Program& program);

}  // namespace braid::plan
