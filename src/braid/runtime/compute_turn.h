// ComputeTurn: programs that share a device compute in turns. Each has a
// thread and memory of its own; while one waits for its copies another
// computes, so that a device is idle only when all of them wait.
//
// The turn goes from one to the next between units, and to who has the least
// rank; nobody is stopped within one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace braid::runtime {

class ComputeSeat;

// What a device spent its time on.
struct ComputeTimes {
  double busy_s = 0;    // somebody computed
  double copies_s = 0;  // nobody did, and somebody waited for copies
  double idle_s = 0;    // nobody wanted it
};

// Thread-safe. Outlived by no seat.
class ComputeTurn {
 public:
  ComputeTimes times() const;  // so far

 private:
  friend class ComputeSeat;
  using Clock = std::chrono::steady_clock;

  void take(ComputeSeat& seat, std::unique_lock<std::mutex>& lock);
  void hand_on();
  void count_time() const;

  mutable std::mutex mutex_;
  ComputeSeat* owner_ = nullptr;
  std::vector<ComputeSeat*> waiting_;  // in the order of asking
  std::atomic<int> num_waiting_ = 0;
  int num_in_copies_ = 0;
  mutable ComputeTimes times_;
  mutable Clock::time_point counted_ = Clock::now();
};

// The place of one program. One thread, but for set_rank().
class ComputeSeat {
 public:
  explicit ComputeSeat(std::shared_ptr<ComputeTurn> turn)
      : turn_(std::move(turn)) {}
  ~ComputeSeat() { leave(); }
  ComputeSeat(const ComputeSeat&) = delete;
  ComputeSeat& operator=(const ComputeSeat&) = delete;

  void set_rank(double rank) { rank_ = rank; }

  // Blocks until it has the turn.
  void take();
  // Others may have it; nothing where it has it not.
  void leave();
  // Those of less rank that wait go first.
  void offer();

  // While one lives, its program waits for copies and needs no turn.
  class Away {
   public:
    explicit Away(ComputeSeat& seat);
    ~Away();
    Away(const Away&) = delete;
    Away& operator=(const Away&) = delete;

   private:
    ComputeSeat& seat_;
  };

 private:
  friend class ComputeTurn;

  std::shared_ptr<ComputeTurn> turn_;
  std::atomic<double> rank_ = 0;
  std::condition_variable has_turn_;
};

}  // namespace braid::runtime
