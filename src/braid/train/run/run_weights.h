// The weights that a run has saved: of which checkpoint, averaged or not.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "braid/io/checkpoint/checkpoint.h"

namespace braid::train {

struct WeightsChoice {
  std::optional<int64_t> step = {};  // of a checkpoint; absent: the newest
  bool best = false;                 // of the best evaluation instead
  // Averaged weights where there are some, or only those, or never.
  bool ema = false, raw = false;
  std::string network = {};  // of several; empty: the only one
};

// A file of weights that is open: it can be read whatever becomes of its
// checkpoint.
struct RunWeights {
  int64_t step = 0;
  std::string why = {};   // that step: ", best accuracy 0.97"; may be empty
  std::string name = {};  // of the file, without averages: "model"
  bool is_averaged = false;
  bool has_both = false;            // averaged ones and others
  std::filesystem::path path = {};  // of the file
  io::SafetensorsFile file;

  // ", averaged weights (ema)"; nothing where there are no others.
  std::string words() const;
};

// Looks into the folder of a run, which may go on meanwhile: where a checkpoint
// vanishes, there is a newer one to look from. Damaged ones are passed over,
// with lines in `warnings`, also when it throws. `who` begins errors: "braid
// export".
RunWeights find_weights(const std::string& run, const WeightsChoice& choice,
                        const std::string& who,
                        std::vector<std::string>& warnings);

}  // namespace braid::train
