// Streams of a CPU device: threads that work through queues in order, tasks
// that the thread which computes does itself, and the events that tie them
// together.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "braid/runtime/backend.h"

namespace braid::runtime {

// Where the events of a device's programs are noted, so that one thread can
// wait for those of several.
struct EventBoard {
  std::mutex mutex;
  std::condition_variable changed;
};

// Events of one program. Thread-safe. The first error of what completes any of
// them is kept; every wait afterwards throws it, so nothing hangs.
class Events : public EventSet {
 public:
  explicit Events(int32_t count, std::shared_ptr<EventBoard> board =
                                     std::make_shared<EventBoard>())
      : board_(std::move(board)), done_(static_cast<size_t>(count), false) {}
  void reset();
  void set(int32_t event);
  void wait(int32_t event);
  bool is_complete(int32_t event) const;  // or will never be
  void fail(std::exception_ptr error);

 private:
  friend class OwnTasks;
  bool is_noted(int32_t event) const {  // with the board's mutex
    return error_ || done_[static_cast<size_t>(event)];
  }

  std::shared_ptr<EventBoard> board_;
  std::vector<bool> done_;
  std::exception_ptr error_;
};

// Work that completes an event of a program.
struct StreamTask {
  std::function<void()> run;
  Events* events;
  int32_t event;
  std::vector<int32_t> waits;

  // Once all of `waits` are complete. An error becomes that of the events.
  void work();
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

  // Seconds of cores that the worker has had. In the thread that pushes.
  double worked_s();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<StreamTask> tasks_;
  bool busy_ = false;
  bool stop_ = false;
  std::thread thread_;
};

// Tasks that a thread does itself, in order, where it would wait or finds that
// the next one need not. All events are of one board. One thread.
class OwnTasks {
 public:
  explicit OwnTasks(std::shared_ptr<EventBoard> board)
      : board_(std::move(board)) {}

  void push(std::function<void()> task, Events& events, int32_t event,
            std::span<const int32_t> waits);

  bool empty() const { return tasks_.empty(); }
  // Runs the tasks whose turn it is and which wait for nothing.
  void run_ready();
  // Blocks until the next task waits for nothing or the event is complete.
  void await_ready_or(const Events& events, int32_t event) const;
  // Runs all, each as soon as it can.
  void drain();

 private:
  bool is_next_ready() const;  // with the board's mutex
  void run_next();

  std::shared_ptr<EventBoard> board_;
  std::deque<StreamTask> tasks_;
};

}  // namespace braid::runtime
