// What a launcher says to the processes that it starts: torchrun, mpirun, srun.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "braid/runtime/comm/store.h"

namespace braid::runtime {

struct Launch {
  std::string launcher = {};  // "torchrun", "mpirun", "srun"; empty: none
  int rank = 0;               // among all processes
  int size = 1;               // of these
  int local_rank = 0;         // among those of this host
  // Where the launcher keeps a store for them; absent: it has none.
  std::optional<Endpoint> store = {};
};

// Gives the value of a variable of the environment, or null.
using Variables = std::function<const char*(const char*)>;

// Throws std::invalid_argument for variables that make no sense together.
Launch read_launch(const Variables& variables);
Launch read_launch();  // of this process

}  // namespace braid::runtime
