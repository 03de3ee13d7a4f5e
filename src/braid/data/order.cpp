#include "braid/data/order.h"

#include <exception>
#include <numeric>
#include <utility>

#include "braid/base/error.h"
#include "braid/data/sample_random.h"

namespace braid::data {

int64_t Order::index(int64_t epoch, int64_t i) {
  if (!shuffle_) return i;
  if (epoch != epoch_) shuffle(epoch);
  return places_[static_cast<size_t>(i)];
}

void Order::make_room() {
  try {
    places_.resize(static_cast<size_t>(size_));
  } catch (const std::exception&) {
    fail_world(
        "[loader] no memory for the order of {} samples\nHINT: use fewer "
        "('limit', 'count'), or shuffle: false",
        size_);
  }
}

// Fisher and Yates, from the end.
void Order::shuffle(int64_t epoch) {
  make_room();
  std::iota(places_.begin(), places_.end(), 0);
  SampleRandom random(seed_, "shuffle", epoch);
  for (size_t last = places_.size(); last-- > 1;) {
    auto other = random.below(static_cast<int64_t>(last) + 1);
    std::swap(places_[last], places_[static_cast<size_t>(other)]);
  }
  epoch_ = epoch;
}

}  // namespace braid::data
