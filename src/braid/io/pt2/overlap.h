// Stored tensors that are parts of one storage.
#pragma once

#include <utility>

#include "braid/io/pt2/exported.h"

namespace braid::io::pt2 {

// The elements of its storage among which a tensor lies: from first, below
// second.
std::pair<int64_t, int64_t> extent(const TensorMeta& meta);

// Whether two tensors have an element in common. Those of different storages
// have none, and neither have the even and the odd columns of a matrix.
bool overlap(const StoredTensor& a, const StoredTensor& b);

}  // namespace braid::io::pt2
