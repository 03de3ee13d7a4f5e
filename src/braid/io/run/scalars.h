// Scalars: named numbers of one moment of a run, such as a loss.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace braid::io {

using Scalars = std::vector<std::pair<std::string, double>>;

}  // namespace braid::io
