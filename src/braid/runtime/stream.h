// Streams of a CPU device: threads that work through queues in order, and the
// events that tie them together.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "braid/graph/graph.h"

namespace braid::runtime {

// Numbered events of one pass. Thread-safe. The first error of any stream is
// kept; every wait afterwards throws it, so nothing hangs.
class Events {
 public:
  void reset(int32_t count);
  void set(int32_t event);
  void wait(int32_t event);
  void fail(std::exception_ptr error);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> done_;
  std::exception_ptr error_;
};

// One worker thread, started with the first job.
class Stream {
 public:
  explicit Stream(Events& events) : events_(events) {}
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Queues a job that starts when `after` (or kNone) is complete and then
  // completes `event`.
  void push(std::function<void()> job, int32_t event, int32_t after);

  // Blocks until the queue is empty and the worker idle.
  void drain();

 private:
  struct Job {
    std::function<void()> run;
    int32_t event, after;
  };
  void work();
  void run(Job& job);

  Events& events_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool busy_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace braid::runtime
