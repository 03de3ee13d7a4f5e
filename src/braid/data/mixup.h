// Mixup: every sample is mixed with another one, and so are their labels.
#pragma once

#include "braid/data/dataset.h"

namespace braid::data {

// Images x and labels y as in Zhang et al. 2017: sample i becomes
// l * sample i + (1 - l) * sample j, with j drawn from all samples and l from
// Beta(alpha, alpha), for each sample anew in every epoch. Labels y, i64 with
// known classes, become their probabilities, f32 [classes]: a field that
// is_mixed. Errors begin with `who`.
DatasetPtr mixup(const DatasetPtr& images, double alpha,
                 const std::string& who);

}  // namespace braid::data
