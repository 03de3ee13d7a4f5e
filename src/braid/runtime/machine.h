// Machine: what programs can run on here. An interface, so that what trains
// need not link the kernels.
#pragma once

#include <memory>
#include <vector>

#include "braid/ops/core/foreign.h"
#include "braid/runtime/backend.h"
#include "braid/runtime/compute_turn.h"

namespace braid::runtime {

// What of a device one user may take.
struct Budget {
  int64_t bytes = kNoLimit;
  int cores = 0;  // of a CPU device; 0: all that the machine has
  int64_t host_bytes = kNoLimit;  // that plans may move things to
  // Of those who compute in turns on a CPU device; null: there is nobody else.
  std::shared_ptr<ComputeSeat> seat = {};
  // Told what a CPU device's other streams do; may be empty.
  StreamWatch watch = {};
};

// Thread-safe.
class Machine {
 public:
  virtual ~Machine() = default;

  // Every operator that Braid knows.
  virtual const OpTable& ops() const = 0;
  // Those of libtorch.
  virtual const ForeignOps& foreign() const = 0;
  // The CPU, then every GPU. CPU devices of other numbers can be opened too:
  // they share the machine, each with a budget of its own.
  virtual std::vector<plan::DeviceInfo> devices() const = 0;
  // Borrows from this object. Throws when there is no such device here.
  virtual std::unique_ptr<Backend> open(DeviceId device,
                                        const Budget& budget) const = 0;
};

// This computer with all kernels that were built.
std::unique_ptr<Machine> this_machine();

}  // namespace braid::runtime
