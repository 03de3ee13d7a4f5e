#include "braid/runtime/compute_turn.h"

#include <algorithm>

namespace braid::runtime {

ComputeTimes ComputeTurn::times() const {
  std::lock_guard lock(mutex_);
  count_time();
  return times_;
}

// The time since the last change is of what there was until now.
void ComputeTurn::count_time() const {
  Clock::time_point now = Clock::now();
  double& part = owner_               ? times_.busy_s
                 : num_in_copies_ > 0 ? times_.copies_s
                                      : times_.idle_s;
  part += std::chrono::duration<double>(now - counted_).count();
  counted_ = now;
}

void ComputeTurn::take(ComputeSeat& seat, std::unique_lock<std::mutex>& lock) {
  if (owner_) {
    waiting_.push_back(&seat);
    ++num_waiting_;
    seat.has_turn_.wait(lock, [&] { return owner_ == &seat; });
  } else {
    owner_ = &seat;
  }
  if (seat.watch_) seat.began_ = Clock::now();
}

void ComputeTurn::hand_on() {
  if (owner_->watch_) {
    owner_->watch_(plan::Stream::kCompute, owner_->began_, Clock::now());
  }
  owner_ = nullptr;
  if (waiting_.empty()) return;
  auto next = std::ranges::min_element(
      waiting_, {}, [](const ComputeSeat* seat) { return seat->rank_.load(); });
  owner_ = *next;
  waiting_.erase(next);
  --num_waiting_;
  owner_->has_turn_.notify_one();
}

void ComputeSeat::take() {
  std::unique_lock lock(turn_->mutex_);
  turn_->count_time();
  if (turn_->owner_ != this) turn_->take(*this, lock);
}

void ComputeSeat::leave() {
  std::lock_guard lock(turn_->mutex_);
  if (turn_->owner_ != this) return;
  turn_->count_time();
  turn_->hand_on();
}

void ComputeSeat::offer() {
  if (turn_->num_waiting_ == 0) return;
  std::unique_lock lock(turn_->mutex_);
  bool gives_way = turn_->owner_ == this &&
                   std::ranges::any_of(turn_->waiting_, [&](auto* other) {
                     return other->rank_ < rank_;
                   });
  if (!gives_way) return;
  turn_->hand_on();
  turn_->take(*this, lock);
}

ComputeSeat::Away::Away(ComputeSeat& seat) : seat_(seat) {
  ComputeTurn& turn = *seat.turn_;
  std::lock_guard lock(turn.mutex_);
  turn.count_time();
  ++turn.num_in_copies_;
  if (turn.owner_ == &seat) turn.hand_on();
}

ComputeSeat::Away::~Away() {
  ComputeTurn& turn = *seat_.turn_;
  std::unique_lock lock(turn.mutex_);
  turn.count_time();
  --turn.num_in_copies_;
  turn.take(seat_, lock);
}

}  // namespace braid::runtime
