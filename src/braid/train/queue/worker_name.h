// Names of workers: unlike any other's, and from which those on the same host
// can tell that one does not live any more.
#pragma once

#include <string>

namespace braid::train {

// Of this process: "node1-4711-9f2c01ab-82734".
std::string worker_name();

// Whether it was a process of this host, under this system's present run, that
// has ended. False for those of other hosts.
bool has_died_here(const std::string& name);

}  // namespace braid::train
