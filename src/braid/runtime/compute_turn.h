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
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "braid/plan/program.h"

namespace braid::runtime {

// Told what a stream of a device did and when, by the thread that did it.
using StreamWatch = std::function<void(
    plan::Stream stream, std::chrono::steady_clock::time_point begin,
    std::chrono::steady_clock::time_point end)>;

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
  // Told of every turn that it had. Before the first.
  void set_watch(StreamWatch watch) { watch_ = std::move(watch); }

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
  StreamWatch watch_;
  ComputeTurn::Clock::time_point began_ = {};
  std::atomic<double> rank_ = 0;
  std::condition_variable has_turn_;
};

}  // namespace braid::runtime
