// The longest common order of several lists.
#pragma once

#include <cstdint>
#include <vector>

namespace braid::passes {

// Places of equal items that come in the same order in all lists: [item][list]
// is an index into that list. For two lists it is the longest possible; each
// further list is compared with what the ones before have in common. Takes
// time and memory like the product of the parts that differ.
std::vector<std::vector<int32_t>> common_order(
    const std::vector<std::vector<int32_t>>& lists);

}  // namespace braid::passes
