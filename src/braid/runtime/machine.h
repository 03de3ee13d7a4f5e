// Machine: what programs can run on here. An interface, so that what trains
// need not link the kernels.
#pragma once

#include <limits>
#include <memory>
#include <string>

#include "braid/ops/core/foreign.h"
#include "braid/runtime/backend.h"

namespace braid::runtime {

// A device without a limit of bytes.
inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// Thread-safe.
class Machine {
 public:
  virtual ~Machine() = default;

  // Every operator that Braid knows.
  virtual const OpTable& ops() const = 0;
  // Those of libtorch.
  virtual const ForeignOps& foreign() const = 0;
  // A device by its full name; borrows from this object. Throws when there is
  // no such device here.
  virtual std::unique_ptr<Backend> open(const std::string& device,
                                        int64_t limit_bytes) const = 0;
};

// This computer with all kernels that were built.
std::unique_ptr<Machine> this_machine();

// The name in full ("cuda" is "cuda:0"); throws when there is no such kind.
std::string device_name(const std::string& text);

}  // namespace braid::runtime
