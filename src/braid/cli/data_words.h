// Data as the command line names them: `source=csv file=test.csv`.
#pragma once

#include <string>
#include <vector>

#include "braid/train/job/job_config.h"

namespace braid::cli {

// The words are KEY=VALUE of a `data` section; the first may be a YAML file
// with such a section, or with one under `data`. Without a file and without
// `source`, they change `base`. With other data, images are brought to the same
// scale as those of `base` unless `augment` is given. `KEY=` is an empty text.
// Paths are absolute then. Throws std::invalid_argument with all that is wrong;
// `who` begins it.
train::DataConfig read_data_words(const std::vector<std::string>& words,
                                  const train::DataConfig& base,
                                  const std::string& who);

}  // namespace braid::cli
