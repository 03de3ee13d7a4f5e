#include "braid/data/opening.h"

#include <algorithm>

namespace braid::data {

const Field* Opening::find(std::string_view name) const {
  if (!known) return nullptr;
  auto found = std::ranges::find(*known, name, &Field::name);
  return found == known->end() ? nullptr : &*found;
}

Part training_part(const Opening& opening, const Options& options, int64_t size,
                   int64_t reach) {
  int64_t limit = options.whole("limit");
  if (limit > 0) size = std::min(size, limit);
  if (!opening.split) return {.first = 0, .count = size};
  return split_samples(*opening.split, size, reach, options.who()).train;
}

}  // namespace braid::data
