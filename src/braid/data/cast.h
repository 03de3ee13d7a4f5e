// Floats of another width.
#pragma once

#include "braid/data/dataset.h"

namespace braid::data {

// The dataset with its float fields, f32 or f64, as `dtype`, which is one of
// the two. Returns `dataset` itself when they are so already.
DatasetPtr cast_floats(DatasetPtr dataset, DType dtype);

}  // namespace braid::data
