// How jobs will share devices, in words.
#pragma once

#include <string>

#include "braid/train/jobs/work_plans.h"

namespace braid::cli {

// "share  12 arrays on 2 devices, 2 at once on each: about 3m 10s, 2m 55s at
// least", by prediction.
std::string sharing_words(const train::SharingPlan& plan,
                          const train::JobDevices& devices);

}  // namespace braid::cli
