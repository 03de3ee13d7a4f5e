#include "braid/data/joint_loader.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "braid/base/error.h"
#include "braid/data/batch_plan.h"

namespace braid::data {
namespace {

// The part whose samples stand for all.
const LoaderPart& first_with_data(const std::vector<LoaderPart>& parts) {
  auto found = std::ranges::find_if(
      parts, [](const LoaderPart& part) { return part.dataset != nullptr; });
  if (found == parts.end()) fail_usage("[loader] no part has data");
  return *found;
}

void check_same_samples(const Dataset& a, const Dataset& b) {
  bool same = std::ranges::equal(a.fields(), b.fields(), [](auto& x, auto& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape;
  });
  if (same) return;
  fail_usage("[loader] samples of {} and {} differ", a.name(), b.name());
}

}  // namespace

// A ring of batches. Threads take the next number, fill its place and mark it
// ready; next() takes them in order. One place more than `prefetch`, for the
// batches in use.
class JointLoader::Ring {
 public:
  explicit Ring(std::vector<LoaderPart> parts) : parts_(std::move(parts)) {
    const LoaderPart& first = first_with_data(parts_);
    fields_ = first.dataset->fields();
    for (const LoaderPart& part : parts_) add_plan(part, *first.dataset);
    places_.resize(static_cast<size_t>(first.options.prefetch) + 1);
    for (Place& place : places_) make_room(place);
    try {
      for (int64_t i = 0; i < first.options.threads; ++i) {
        threads_.emplace_back([this] { work(); });
      }
    } catch (...) {  // the system gave no thread: those that run must end
      stop();
      throw;
    }
  }
  ~Ring() { stop(); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  const std::vector<Batch>* next() {
    std::unique_lock lock(mutex_);
    if (holds_place_) release();
    Place& place = place_of(taken_);
    ready_.wait(
        lock, [&] { return place.is_ready || (ended_ && taken_ == claimed_); });
    if (!place.is_ready) return nullptr;
    if (place.error) std::rethrow_exception(place.error);
    holds_place_ = true;
    return &place.batches;
  }

 private:
  struct Place {
    std::vector<std::vector<std::byte>> storage;   // by field
    std::vector<Batch> batches;                    // by part
    std::vector<std::vector<int64_t>> indices;     // of their samples
    std::vector<std::vector<SampleRange>> blocks;  // that they begin with
    std::exception_ptr error;
    bool is_ready = false;
  };

  void add_plan(const LoaderPart& part, const Dataset& first) {
    auto& plan = plans_.emplace_back();
    if (!part.dataset) return;
    check_same_samples(first, *part.dataset);
    datasets_.insert(part.dataset.get());
    plan.emplace(part.dataset->size(), part.options, part.start);
    most_rows_ = std::max(
        most_rows_, std::min(part.options.batch_size, part.dataset->size()));
  }

  void make_room(Place& place) const {
    place.batches.resize(parts_.size());
    place.indices.resize(parts_.size());
    place.blocks.resize(parts_.size());
    for (const Field& field : fields_) {
      size_t bytes = static_cast<size_t>(most_rows_) * sample_bytes(field);
      auto& storage = place.storage.emplace_back(bytes * parts_.size());
      for (size_t i = 0; i < parts_.size(); ++i) {
        place.batches[i].fields.push_back(storage.data() + i * bytes);
      }
    }
  }

  Place& place_of(size_t number) { return places_[number % places_.size()]; }

  // Gives the place of the batches in use back. The lock is held.
  void release() {
    place_of(taken_).is_ready = false;
    ++taken_;
    holds_place_ = false;
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
        fill_all(*place);
      } catch (...) {
        place->error = std::current_exception();
      }
      std::lock_guard lock(mutex_);
      place->is_ready = true;
      ready_.notify_one();
    }
  }

  // The place of the next batches, planned; null when there is no more to do.
  Place* claim() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] {
      return stopped_ || ended_ || claimed_ < taken_ + places_.size();
    });
    if (stopped_ || ended_) return nullptr;
    Place& place = place_of(claimed_);
    try {
      for (size_t i = 0; i < parts_.size(); ++i) {
        if (!plans_[i]) continue;
        if (!plans_[i]->next(place.batches[i], place.indices[i])) return end();
        place.blocks[i] = plans_[i]->take_new_blocks();
      }
    } catch (...) {  // no memory for the order of the epoch
      place.error = std::current_exception();
      for (auto& indices : place.indices) indices.clear();
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

  // A file that lost its end explains whatever else was found wrong in it.
  void fill_all(Place& place) {
    try {
      for (size_t i = 0; i < parts_.size(); ++i) fill(place, i);
    } catch (...) {
      check_datasets();
      throw;
    }
    check_datasets();
  }

  void check_datasets() const {
    for (const Dataset* dataset : datasets_) dataset->check();
  }

  void fill(Place& place, size_t part) {
    const LoaderPart& from = parts_[part];
    Draw draw{from.options.seed, place.batches[part].first.epoch};
    std::vector<std::byte*> out = place.batches[part].fields;
    for (const SampleRange& block : place.blocks[part]) {
      from.dataset->prepare_range(block.first, block.count);
    }
    if (from.dataset) from.dataset->prepare(place.indices[part], draw);
    for (int64_t index : place.indices[part]) {
      if (is_stopped()) return;  // the destructor waits
      from.dataset->read(index, draw, out);
      for (size_t f = 0; f < out.size(); ++f) {
        out[f] += sample_bytes(fields_[f]);
      }
    }
  }

  const std::vector<LoaderPart> parts_;
  std::vector<Field> fields_;
  std::set<const Dataset*> datasets_;  // of the parts, each once
  int64_t most_rows_ = 0;
  std::mutex mutex_;  // guards all below, but for the content of claimed places
  std::condition_variable room_;   // a place became free, or the end is near
  std::condition_variable ready_;  // a place became ready, or there is none
  std::vector<std::optional<BatchPlan>> plans_;  // by part
  std::vector<Place> places_;
  size_t claimed_ = 0;  // places given to threads
  size_t taken_ = 0;    // places that the caller is done with
  bool holds_place_ = false;
  bool ended_ = false;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

JointLoader::JointLoader(std::vector<LoaderPart> parts)
    : ring_(std::make_unique<Ring>(std::move(parts))) {}

JointLoader::~JointLoader() = default;
JointLoader::JointLoader(JointLoader&&) noexcept = default;
JointLoader& JointLoader::operator=(JointLoader&&) noexcept = default;

const std::vector<Batch>* JointLoader::next() { return ring_->next(); }

}  // namespace braid::data
