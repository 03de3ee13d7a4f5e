#include "braid/io/data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "braid/base/error.h"
#include "braid/io/data/batch_plan.h"

namespace braid::data {
namespace {

void check_least(std::string_view name, int64_t value, int64_t least) {
  if (value >= least) return;
  fail_usage("[loader] expected {} of {} or more, got {}", name, least, value);
}

}  // namespace

// A ring of batches. Threads take the next number, fill its place and mark it
// ready; next() takes them in order. One place more than `prefetch`, for the
// batch in use.
class Loader::Run {
 public:
  Run(const Dataset& dataset, const LoaderOptions& options, Position start)
      : dataset_(dataset),
        options_(options),
        plan_(dataset.size(), options, start),
        places_(static_cast<size_t>(options.prefetch) + 1) {
    for (Place& place : places_) make_room(place.batch);
    try {
      for (int64_t i = 0; i < options.threads; ++i) {
        threads_.emplace_back([this] { work(); });
      }
    } catch (...) {  // the system gave no thread: those that run must end
      stop();
      throw;
    }
  }
  ~Run() { stop(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const Batch* next() {
    std::unique_lock lock(mutex_);
    if (holds_batch_) release();
    Place& place = place_of(taken_);
    ready_.wait(
        lock, [&] { return place.is_ready || (ended_ && taken_ == claimed_); });
    if (!place.is_ready) return nullptr;
    if (place.error) std::rethrow_exception(place.error);
    holds_batch_ = true;
    return &place.batch;
  }

 private:
  struct Place {
    Batch batch;
    std::vector<int64_t> indices;  // of its samples
    std::exception_ptr error;
    bool is_ready = false;
  };

  void make_room(Batch& batch) const {
    int64_t rows = std::min(options_.batch_size, dataset_.size());
    for (const Field& field : dataset_.fields()) {
      batch.fields.emplace_back(static_cast<size_t>(rows) *
                                sample_bytes(field));
    }
  }

  Place& place_of(size_t number) { return places_[number % places_.size()]; }

  // Gives the place of the batch in use back. The lock is held.
  void release() {
    place_of(taken_).is_ready = false;
    ++taken_;
    holds_batch_ = false;
    room_.notify_one();
  }

  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  void work() {
    while (Place* place = claim()) {
      try {
        fill(*place);
      } catch (...) {
        place->error = std::current_exception();
      }
      std::lock_guard lock(mutex_);
      place->is_ready = true;
      ready_.notify_one();
    }
  }

  // The place of the next batch, planned; null when there is no more to do.
  Place* claim() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] {
      return stopped_ || ended_ || claimed_ < taken_ + places_.size();
    });
    if (stopped_ || ended_) return nullptr;
    Place& place = place_of(claimed_);
    try {
      if (!plan_.next(place.batch, place.indices)) return end();
    } catch (...) {  // no memory for the order of the epoch
      place.error = std::current_exception();
      place.indices.clear();
    }
    ++claimed_;
    return &place;
  }

  Place* end() {
    ended_ = true;
    ready_.notify_one();
    room_.notify_all();
    return nullptr;
  }

  bool is_stopped() {
    std::lock_guard lock(mutex_);
    return stopped_;
  }

  void fill(Place& place) {
    Draw draw{options_.seed, place.batch.first.epoch};
    std::vector<std::byte*> out;
    for (auto& field : place.batch.fields) out.push_back(field.data());
    for (int64_t index : place.indices) {
      if (is_stopped()) return;  // the destructor waits
      dataset_.read(index, draw, out);
      for (size_t f = 0; f < out.size(); ++f) {
        out[f] += sample_bytes(dataset_.fields()[f]);
      }
    }
  }

  const Dataset& dataset_;
  const LoaderOptions options_;
  std::mutex mutex_;  // guards all below, but for the content of claimed places
  std::condition_variable room_;   // a place became free, or the end is near
  std::condition_variable ready_;  // a batch became ready, or there is none
  BatchPlan plan_;
  std::vector<Place> places_;
  size_t claimed_ = 0;  // batches given to threads
  size_t taken_ = 0;    // batches that the caller is done with
  bool holds_batch_ = false;
  bool ended_ = false;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

void LoaderOptions::validate() const {
  check_least("a batch_size", batch_size, 1);
  check_least("prefetch", prefetch, 1);
  check_least("threads", threads, 1);
}

Loader::Loader(DatasetPtr dataset, LoaderOptions options)
    : dataset_(std::move(dataset)), options_(options) {
  options_.validate();
  if (options_.drop_last && options_.batch_size > dataset_->size()) {
    fail_usage(
        "[loader] expected a batch_size of at most {}, got {} ({})\n"
        "HINT: with drop_last a batch larger than the data leaves nothing; "
        "take a smaller one or drop_last: false",
        dataset_->size(), options_.batch_size, dataset_->name());
  }
}

Loader::~Loader() = default;
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;

void Loader::seek(Position position) {
  if (position.epoch < 0 || position.sample < 0 ||
      position.sample > dataset_->size()) {
    fail_usage(
        "[loader.seek] expected a sample from 0 to {}, got {} of epoch {} ({})",
        dataset_->size(), position.sample, position.epoch, dataset_->name());
  }
  run_.reset();
  start_ = position;
}

const Batch* Loader::next() {
  if (!run_) run_ = std::make_unique<Run>(*dataset_, options_, start_);
  return run_->next();
}

int64_t Loader::batches_per_epoch() const {
  return num_batches(dataset_->size(), options_);
}

int64_t Loader::rows_of_last() const {
  int64_t rest = dataset_->size() % options_.batch_size;
  return rest == 0 || options_.drop_last ? options_.batch_size : rest;
}

}  // namespace braid::data
