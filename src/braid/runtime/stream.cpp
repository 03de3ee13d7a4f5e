#include "braid/runtime/stream.h"

namespace braid::runtime {

void Events::reset() {
  std::lock_guard lock(mutex_);
  std::fill(done_.begin(), done_.end(), false);
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

bool Events::is_complete(int32_t event) const {
  std::lock_guard lock(mutex_);
  return error_ || done_[static_cast<size_t>(event)];
}

void Events::fail(std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
  changed_.notify_all();
}

WorkStream::~WorkStream() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void WorkStream::push(std::function<void()> task, Events& events, int32_t event,
                      std::span<const int32_t> waits) {
  std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  tasks_.push_back(
      {std::move(task), &events, event, {waits.begin(), waits.end()}});
  changed_.notify_all();
}

void WorkStream::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return tasks_.empty() && !busy_; });
}

void WorkStream::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    lock.unlock();
    run(task);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void WorkStream::run(Task& task) {
  try {
    for (int32_t event : task.waits) task.events->wait(event);
    task.run();
    if (task.event != kNone) task.events->set(task.event);
  } catch (...) {
    task.events->fail(std::current_exception());
  }
}

}  // namespace braid::runtime
