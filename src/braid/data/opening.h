// Opening: what a source is opened for, besides its options.
//
// Some sources learn from training data how to read: means, categories,
// words. They learn from the training part alone, and read evaluation data by
// what they learned.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "braid/data/dataset.h"
#include "braid/data/options.h"
#include "braid/data/split.h"

namespace braid::data {

struct Opening {
  // Evaluation data: the fields of the training data, or what was kept of
  // them (known_fields.h). Borrowed; null: these are training data.
  const std::vector<Field>* known = nullptr;
  // Training data of which a part is held back; both parts are opened as one.
  std::optional<Split> split = {};

  // What is known of a field; null: nothing.
  const Field* find(std::string_view name) const;
};

// Which of `size` samples are trained on: of the first ones, where `limit` says
// so, those that are not held back. `reach` is as of Dataset::reach().
Part training_part(const Opening& opening, const Options& options, int64_t size,
                   int64_t reach = 0);

}  // namespace braid::data
