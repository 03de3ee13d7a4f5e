// Stored tensors that are parts of one storage.
#pragma once

#include "braid/io/pt2/exported.h"

namespace braid::io::pt2 {

// Whether two tensors have an element in common. Those of different storages
// have none, and neither have the even and the odd columns of a matrix.
bool overlap(const StoredTensor& a, const StoredTensor& b);

}  // namespace braid::io::pt2
