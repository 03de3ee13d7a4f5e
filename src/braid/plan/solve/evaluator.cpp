#include "braid/plan/solve/evaluator.h"

#include <algorithm>

#include "braid/plan/solve/replay.h"

namespace braid::plan {
namespace {

bool has_collectives(const Instance& instance) {
  return std::ranges::any_of(instance.segments, [](const auto& segment) {
    return std::ranges::any_of(segment.modes, [](const Mode& mode) {
      return mode.gf > 0 || mode.gb > 0 || mode.rb > 0;
    });
  });
}

}  // namespace

Evaluator::Evaluator(const Instance& instance, int depth)
    : instance_(instance),
      depth_(depth),
      n_(instance.num_segments()),
      slots_(instance.num_slots()),
      modes_(static_cast<size_t>(n_), 0),
      work_(static_cast<size_t>(slots_)) {
  if (has_collectives(instance)) clocks_.emplace(instance, depth);
  auto clocks = static_cast<size_t>(slots_ + depth_ + 1);
  kept_.resize(clocks);
  tried_.resize(clocks);
  std::vector<int32_t> first(modes_.size(), 0);
  assign(first);
}

void Evaluator::assign(std::span<const int32_t> modes) {
  modes_.assign(modes.begin(), modes.end());
  bytes_ = slot_bytes(instance_, depth_, modes_);
  everywhere_ = 0;
  host_ = 0;
  for (int i = 0; i < n_; ++i) {
    const Mode& mode = instance_.mode(i, modes_[static_cast<size_t>(i)]);
    host_ += mode.host;
    set_work(i, mode);
  }
  changes_.clear();
  first_changed_ = 0;
  kept_time_ = tried_time_ = -1;
  time();
  keep();
}

void Evaluator::set(int segment, int32_t mode) {
  int32_t before = modes_[static_cast<size_t>(segment)];
  if (before == mode) return;
  changes_.push_back({segment, before});
  put(segment, mode);
}

void Evaluator::keep() {
  time();
  auto begin = static_cast<ptrdiff_t>(first_changed_ + depth_ + 1);
  std::copy(tried_.begin() + begin, tried_.end(), kept_.begin() + begin);
  kept_time_ = tried_time_;
  first_changed_ = slots_;
  changes_.clear();
}

void Evaluator::undo() {
  while (!changes_.empty()) {
    put(changes_.back().segment, changes_.back().before);
    changes_.pop_back();
  }
  first_changed_ = slots_;
  tried_time_ = kept_time_;
}

int64_t Evaluator::time() {
  if (tried_time_ < 0) {
    tried_time_ = clocks_ ? clocks_->run(modes_).time_ns : run_clocks();
  }
  return tried_time_;
}

int64_t Evaluator::peak() const {
  return everywhere_ + *std::ranges::max_element(bytes_);
}

void Evaluator::put(int segment, int32_t mode) {
  int32_t& now = modes_[static_cast<size_t>(segment)];
  const Mode& old_row = instance_.mode(segment, now);
  const Mode& new_row = instance_.mode(segment, mode);
  now = mode;
  host_ += new_row.host - old_row.host;
  change_bytes(segment, old_row, new_row);
  set_work(segment, new_row);
  first_changed_ = std::min(first_changed_, segment);
  tried_time_ = -1;
}

void Evaluator::add_range(int first, int last, int64_t bytes) {
  if (bytes == 0) return;
  first = std::max(first, 0);
  last = std::min(last, slots_ - 1);
  for (int p = first; p <= last; ++p) bytes_[static_cast<size_t>(p)] += bytes;
}

void Evaluator::change_bytes(int segment, const Mode& from, const Mode& to) {
  int back = slots_ - 1 - segment;
  everywhere_ += to.res - from.res;
  add_range(segment, back, to.keep - from.keep);
  add_range(segment, segment, to.xf - from.xf);
  add_range(back, back, to.xb - from.xb);
  add_range(segment - depth_, segment, to.wf - from.wf);
  add_range(back - depth_, back, to.wb - from.wb);
  add_range(segment + 1, segment + depth_, to.lf - from.lf);
  add_range(back + 1, back + depth_, to.lb - from.lb);
  add_range(back + 1, slots_ - 1, to.grad - from.grad);
}

void Evaluator::set_work(int segment, const Mode& mode) {
  work_[static_cast<size_t>(segment)] = {mode.f, mode.hf, mode.of, 0, false};
  work_[static_cast<size_t>(slots_ - 1 - segment)] = {
      mode.b, mode.hb, mode.ob, mode.u, mode.dep && mode.hb > 0 && mode.of > 0};
}

// Slots before the first changed one are as they were kept.
int64_t Evaluator::evicted(int slot) const {
  auto at = static_cast<size_t>(slot + depth_ + 1);
  return slot < first_changed_ ? kept_[at].evict : tried_[at].evict;
}

int64_t Evaluator::run_clocks() {
  auto before = static_cast<size_t>(depth_) + 1;
  auto first = static_cast<size_t>(first_changed_);
  // Those that the first changed slots look back at.
  std::copy_n(kept_.begin() + static_cast<ptrdiff_t>(first), before,
              tried_.begin() + static_cast<ptrdiff_t>(first));
  Clock* clocks = tried_.data() + before;
  Clock last = clocks[static_cast<ptrdiff_t>(first) - 1];
  auto depth = static_cast<ptrdiff_t>(depth_);
  for (auto p = static_cast<ptrdiff_t>(first); p < slots_; ++p) {
    const Work& work = work_[static_cast<size_t>(p)];
    Clock& now = clocks[p];
    now.gate = std::max(last.compute, clocks[p - depth - 1].evict);
    now.fetch = std::max(last.fetch, clocks[p - depth].gate);
    if (work.reads_evicted) {
      now.fetch =
          std::max(now.fetch, evicted(static_cast<int>(slots_ - 1 - p)));
    }
    now.fetch += work.fetch;
    now.compute = std::max(now.gate, now.fetch) + work.compute;
    now.evict = std::max(last.evict, now.compute) + work.evict;
    now.update = last.update;
    if (p >= n_) now.update = std::max(now.update, now.evict) + work.update;
    last = now;
  }
  return std::max(last.evict, last.update);
}

}  // namespace braid::plan
