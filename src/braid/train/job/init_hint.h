// What to write in a job so that a file of first weights does for its model.
#pragma once

#include <string>
#include <vector>

namespace braid::train {

// Names that do not fit, and all names of the model.
struct InitMisfit {
  std::vector<std::string> known = {};  // of the model
  std::vector<std::string> missing = {}, reshaped = {};
  std::vector<std::string> extra = {};  // of the file
};

// "\nHINT: ..." with patterns, or with a beginning that names have too many or
// too few; empty when there is nothing to write.
std::string init_hint(const InitMisfit& misfit);

}  // namespace braid::train
