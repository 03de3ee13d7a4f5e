// Small helpers on words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace braid {

// The name with the least edit distance; empty when there are no names.
std::string nearest_name(std::string_view wanted,
                         const std::vector<std::string>& names);

}  // namespace braid
