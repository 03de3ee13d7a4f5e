// What a display shows, as text: pure functions of the state of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "braid/cli/display/display_words.h"

namespace braid::cli {

// One model that is being trained.
struct DisplayRow {
  std::string name;
  std::optional<double> loss;
  std::optional<double> lr;
  std::string note;  // such as "stopped early"
};

// What is not known stays as it is here and is not shown.
struct DisplayState {
  int64_t step = 0;
  int64_t steps = 0;
  std::optional<double> epoch;
  std::optional<double> epochs;
  double steps_per_s = 0;
  int64_t samples_per_step = 0;  // 0: the rate is shown in steps
  int64_t memory_bytes = 0;
  int64_t limit_bytes = 0;
  std::vector<DisplayRow> rows;
  std::string evaluation;  // of the last one: "step 300  accuracy 0.97"
};

// "step  40/100  loss 1.284  8.4 steps/s  eta 7s"; several losses are a span.
std::string plain_text(const DisplayState& state);

// The lines of a block that is drawn in place; none is wider than the width.
std::vector<std::string> draw(const DisplayState& state,
                              const DrawOptions& options = {});

}  // namespace braid::cli
