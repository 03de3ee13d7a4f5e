#include "braid/runtime/stream.h"

#include <algorithm>

#include "braid/runtime/waits.h"

namespace braid::runtime {

void Events::reset() {
  std::lock_guard lock(board_->mutex);
  std::fill(done_.begin(), done_.end(), false);
  error_ = nullptr;
}

void Events::set(int32_t event) {
  std::lock_guard lock(board_->mutex);
  done_[static_cast<size_t>(event)] = true;
  board_->changed.notify_all();
}

void Events::wait(int32_t event) {
  std::unique_lock lock(board_->mutex);
  board_->changed.wait(lock, [&] { return is_noted(event); });
  if (error_) std::rethrow_exception(error_);
}

bool Events::is_complete(int32_t event) const {
  std::lock_guard lock(board_->mutex);
  return is_noted(event);
}

void Events::fail(std::exception_ptr error) {
  std::lock_guard lock(board_->mutex);
  if (!error_) error_ = std::move(error);
  board_->changed.notify_all();
}

void StreamTask::work() {
  try {
    for (int32_t before : waits) events->wait(before);
    run();
    if (event != kNone) events->set(event);
  } catch (...) {
    events->fail(std::current_exception());
  }
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

double WorkStream::worked_s() { return core_s(thread_).value_or(0); }

void WorkStream::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    StreamTask task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    lock.unlock();
    task.work();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void OwnTasks::push(std::function<void()> task, Events& events, int32_t event,
                    std::span<const int32_t> waits) {
  tasks_.push_back(
      {std::move(task), &events, event, {waits.begin(), waits.end()}});
}

bool OwnTasks::is_next_ready() const {
  if (tasks_.empty()) return false;
  const StreamTask& next = tasks_.front();
  return std::ranges::all_of(
      next.waits, [&](int32_t event) { return next.events->is_noted(event); });
}

void OwnTasks::run_next() {
  StreamTask task = std::move(tasks_.front());
  tasks_.pop_front();
  task.work();
}

void OwnTasks::run_ready() {
  auto is_ready = [&] {
    std::lock_guard lock(board_->mutex);
    return is_next_ready();
  };
  while (!tasks_.empty() && is_ready()) run_next();
}

void OwnTasks::await_ready_or(const Events& events, int32_t event) const {
  std::unique_lock lock(board_->mutex);
  board_->changed.wait(
      lock, [&] { return events.is_noted(event) || is_next_ready(); });
}

void OwnTasks::drain() {
  while (!tasks_.empty()) run_next();
}

}  // namespace braid::runtime
