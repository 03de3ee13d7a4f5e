#include "braid/data/order.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <span>
#include <utility>

#include "braid/base/error.h"
#include "braid/data/sample_random.h"

namespace braid::data {
namespace {

void make_room(std::vector<int64_t>& numbers, int64_t count) {
  try {
    numbers.resize(static_cast<size_t>(count));
  } catch (const std::exception&) {
    fail_world(
        "[loader] no memory for the order of {} samples\nHINT: mix blocks of "
        "them ('shuffle_block'), use fewer ('limit', 'count'), or shuffle: "
        "false",
        count);
  }
}

// Fisher and Yates, from the end.
void mix(std::span<int64_t> numbers, SampleRandom random) {
  for (size_t last = numbers.size(); last-- > 1;) {
    auto other = random.below(static_cast<int64_t>(last) + 1);
    std::swap(numbers[last], numbers[static_cast<size_t>(other)]);
  }
}

}  // namespace

Order::Order(int64_t size, int64_t seed, const Mixing& mixing)
    : size_(size), seed_(seed), mixing_(mixing) {
  if (!has_blocks()) return;
  mixing_.block = std::min(mixing_.block, size_);
  num_blocks_ = (size_ - 1) / mixing_.block + 1;
  mixing_.window = std::clamp<int64_t>(mixing_.window, 1, num_blocks_);
}

int64_t Order::index(int64_t epoch, int64_t i) {
  if (!mixing_.shuffle) return i;
  if (epoch != epoch_) shuffle(epoch);
  bool is_here =
      i >= first_ && i - first_ < static_cast<int64_t>(places_.size());
  if (!is_here) enter_window(epoch, i);
  return places_[static_cast<size_t>(i - first_)];
}

void Order::shuffle(int64_t epoch) {
  if (!has_blocks()) {
    make_room(places_, size_);
    std::iota(places_.begin(), places_.end(), 0);
    mix(places_, SampleRandom(seed_, "shuffle", epoch));
  } else {
    make_room(blocks_, num_blocks_);
    std::iota(blocks_.begin(), blocks_.end(), 0);
    mix(blocks_, SampleRandom(seed_, "shuffle blocks", epoch));
    auto last = std::ranges::find(blocks_, num_blocks_ - 1);
    short_block_ = last - blocks_.begin();
    places_.clear();
  }
  epoch_ = epoch;
}

// All blocks are of one size but the last one, which may come anywhere.
int64_t Order::window_start(int64_t window) const {
  int64_t blocks = window * mixing_.window;
  if (blocks >= num_blocks_) return size_;
  int64_t missing = num_blocks_ * mixing_.block - size_;
  return blocks * mixing_.block - (short_block_ < blocks ? missing : 0);
}

void Order::enter_window(int64_t epoch, int64_t i) {
  int64_t window = i / (mixing_.window * mixing_.block);
  if (i >= window_start(window + 1)) ++window;
  first_ = window_start(window);
  make_room(places_, window_start(window + 1) - first_);
  auto at = places_.begin();
  int64_t end = std::min((window + 1) * mixing_.window, num_blocks_);
  for (int64_t b = window * mixing_.window; b < end; ++b) {
    int64_t first = blocks_[static_cast<size_t>(b)] * mixing_.block;
    SampleRange block{first, std::min(mixing_.block, size_ - first)};
    std::iota(at, at + block.count, first);
    at += block.count;
    new_blocks_.push_back(block);
  }
  mix(places_, SampleRandom(seed_, "shuffle window", window, epoch));
}

std::vector<SampleRange> Order::take_new_blocks() {
  return std::exchange(new_blocks_, {});
}

}  // namespace braid::data
