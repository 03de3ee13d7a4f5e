#include "braid/runtime/stream.h"

namespace braid::runtime {

void Events::reset(int32_t count) {
  std::lock_guard lock(mutex_);
  done_.assign(static_cast<size_t>(count), false);
  error_ = nullptr;
}

void Events::set(int32_t event) {
  std::lock_guard lock(mutex_);
  done_[static_cast<size_t>(event)] = true;
  changed_.notify_all();
}

void Events::wait(int32_t event) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [&] { return error_ || done_[static_cast<size_t>(event)]; });
  if (error_) std::rethrow_exception(error_);
}

void Events::fail(std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
  changed_.notify_all();
}

Stream::~Stream() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Stream::push(std::function<void()> job, int32_t event, int32_t after) {
  std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  jobs_.push_back({std::move(job), event, after});
  changed_.notify_all();
}

void Stream::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.empty() && !busy_; });
}

void Stream::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    run(job);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void Stream::run(Job& job) {
  try {
    if (job.after != kNone) events_.wait(job.after);
    job.run();
    events_.set(job.event);
  } catch (...) {
    events_.fail(std::current_exception());
  }
}

}  // namespace braid::runtime
