// Streams of a CPU device: threads that work through queues in order, and the
// events that tie them together.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "braid/runtime/backend.h"

namespace braid::runtime {

// Events of one program. Thread-safe. The first error of what completes any of
// them is kept; every wait afterwards throws it, so nothing hangs.
class Events : public EventSet {
 public:
  explicit Events(int32_t count) : done_(static_cast<size_t>(count), false) {}
  void reset();
  void set(int32_t event);
  void wait(int32_t event);
  bool is_complete(int32_t event) const;  // or will never be
  void fail(std::exception_ptr error);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> done_;
  std::exception_ptr error_;
};

// One worker thread, started with the first task.
class WorkStream {
 public:
  WorkStream() = default;
  ~WorkStream();
  WorkStream(const WorkStream&) = delete;
  WorkStream& operator=(const WorkStream&) = delete;

  // Queues a task that starts when all of `waits` are complete and then
  // completes `event`, all of them among `events`, which outlive it.
  void push(std::function<void()> task, Events& events, int32_t event,
            std::span<const int32_t> waits);

  // Blocks until the queue is empty and the worker idle.
  void drain();

 private:
  struct Task {
    std::function<void()> run;
    Events* events;
    int32_t event;
    std::vector<int32_t> waits;
  };
  void work();
  static void run(Task& task);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool busy_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace braid::runtime
