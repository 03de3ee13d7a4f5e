// Split: samples that are held back from training to evaluate on.
//
// Which ones is a function of the seed and the number of samples alone.
// Samples that stand alone are drawn. Windows over one row of tokens overlap
// their neighbours, so of these the last ones are taken, and those that share
// tokens with them are in neither part.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "braid/data/dataset.h"

namespace braid::data {

struct Split {
  double eval = 0;  // a share below 1, or a count from 2
  int64_t seed = 0;

  bool operator==(const Split&) const = default;
};

// Why it is none; empty: it is one. "is 1.5, which is neither ..."
std::string split_problem(const Split& split);

// Some samples of a dataset: `numbers` in rising order, or `count` from
// `first` on where there are none.
struct Part {
  int64_t first = 0;
  int64_t count = 0;
  std::vector<int64_t> numbers = {};

  int64_t operator[](int64_t i) const {
    return numbers.empty() ? first + i : numbers[static_cast<size_t>(i)];
  }
};

struct Parts {
  Part train;
  Part eval;
};

// Both parts of `size` samples; `reach` is as of Dataset::reach(), and `name`
// stands for them in errors. A share is rounded to whole samples. Throws
// std::invalid_argument when one part would have none.
Parts split_samples(const Split& split, int64_t size, int64_t reach,
                    const std::string& name);

// The samples of the part.
DatasetPtr part_of(const DatasetPtr& whole, Part part);

}  // namespace braid::data
