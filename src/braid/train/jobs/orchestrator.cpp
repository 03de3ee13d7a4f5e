#include "braid/train/jobs/orchestrator.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <thread>
#include <utility>

#include "braid/base/error.h"

namespace braid::train {
namespace {

constexpr double kPause = 1e-3;   // seconds between two looks at progress
constexpr int kMostFailures = 2;  // in a row, of a device

int64_t nanoseconds(double seconds) {
  return static_cast<int64_t>(
      std::llround(std::clamp(seconds * 1e9, 1.0, 1e17)));
}

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// Of the member that has most of them to do.
int64_t steps_left(const Run& run) {
  int64_t left = 0;
  for (const auto& member : run.members()) {
    if (has_ended(member->state)) continue;
    left = std::max(left, member->job().num_steps() - member->record().step);
  }
  return left;
}

void stop_members(Run& run) {
  for (size_t i = 0; i < run.members().size(); ++i) run.stop(i);
}

}  // namespace

struct Orchestrator::Device {
  std::optional<DeviceId> id;
  std::shared_ptr<runtime::ComputeTurn> turn;  // null: nobody shares it
  int failures = 0;                            // in a row
  bool is_left_out = false;
};

struct Orchestrator::Place {
  Device* device;
  Item* item = nullptr;  // that is there
};

struct Orchestrator::Item {
  enum class State { kWaiting, kRunning, kEnded };

  Work work;
  schedule::Job job = {};
  schedule::JobView view = {};
  State state = State::kWaiting;
  // Of the thread that has it, or of whoever holds the lock while it waits.
  std::unique_ptr<runtime::Backend> backend = {};
  std::shared_ptr<runtime::ComputeSeat> seat = {};
  std::unique_ptr<Run> run = {};
  double trained_s = 0;
  int64_t ticks = 0;
  double counted_s = 0;             // of a step, in Orchestrator::measured_s_
  std::atomic<bool> stops = false;  // somebody asked for it
  std::set<const Device*> failed_at = {};
  std::exception_ptr error = {};  // of the last failure
};

Orchestrator::Orchestrator(std::vector<Work> works,
                           const schedule::Policy& policy,
                           OrchestratorOptions options)
    : policy_(policy), options_(std::move(options)) {
  options_.devices.validate();
  for (Work& work : works) add(std::move(work));
  make_places();
}

Orchestrator::~Orchestrator() = default;

void Orchestrator::make_places() {
  std::vector<std::optional<DeviceId>> ids(options_.devices.ids.begin(),
                                           options_.devices.ids.end());
  bool shares = !ids.empty();
  if (!shares) ids.emplace_back();
  int count = std::max(options_.devices.at_once, 1);
  for (const auto& id : ids) {
    devices_.push_back(std::make_unique<Device>(id));
    if (shares && id->kind == DeviceKind::kCpu) {
      devices_.back()->turn = std::make_shared<runtime::ComputeTurn>();
    }
  }
  // Every device gets its first run before any gets a second one.
  for (int i = 0; i < count; ++i) {
    for (const auto& device : devices_) {
      places_.push_back(std::make_unique<Place>(device.get()));
    }
  }
}

size_t Orchestrator::add(Work work) {
  auto item = std::make_unique<Item>();
  item->work = std::move(work);
  const Work& w = item->work;
  item->job = {.name = w.name,
               .units = {{.compute_ns = nanoseconds(w.step_s)}},
               .num_steps = std::max<int64_t>(w.steps, 1),
               .priority = w.priority};
  if (w.deadline_s > 0) item->job.deadline_ns = nanoseconds(w.deadline_s);
  std::lock_guard lock(mutex_);
  item->job.arrival_ns = nanoseconds(seconds_between(begin_, Clock::now()));
  item->view = {.number = std::ssize(items_)};
  policy_.check({item->job});
  item->view.job = &item->job;
  items_.push_back(std::move(item));
  changed_.notify_all();
  return items_.size() - 1;
}

void Orchestrator::stop(size_t number) {
  std::lock_guard lock(mutex_);
  items_.at(number)->stops = true;
  changed_.notify_all();
}

Ending Orchestrator::run() {
  if (places_.size() == 1) {
    work_at(*places_[0]);
  } else {
    std::vector<std::thread> threads;
    for (const auto& place : places_) {
      threads.emplace_back([this, &place] { work_at(*place); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (const auto& item : items_) {
    if (item->state == Item::State::kEnded) continue;
    if (!item->error) is_interrupted_ = true;
    end_item(*item, item->error);
  }
  if (fatal_) std::rethrow_exception(fatal_);
  return is_interrupted_ ? Ending::kInterrupted : Ending::kDone;
}

void Orchestrator::work_at(Place& place) {
  try {
    while (Item* item = take(place)) {
      if (item->stops && !item->run) {
        put_back(place, *item, nullptr, true);
        continue;
      }
      std::exception_ptr error;
      bool has_ended = false;
      try {
        has_ended = train(place, *item);
      } catch (...) {
        error = std::current_exception();
      }
      put_back(place, *item, error, has_ended);
    }
  } catch (...) {
    // Whoever listens has failed: nothing goes on.
    std::lock_guard lock(mutex_);
    if (!fatal_) fatal_ = std::current_exception();
    changed_.notify_all();
  }
}

// The one that goes first of those that wait; null: there will be none for this
// place any more. Blocks while one may come back.
Orchestrator::Item* Orchestrator::take(Place& place) {
  std::unique_lock lock(mutex_);
  while (!fatal_ && !place.device->is_left_out) {
    // What has begun holds more than its newest checkpoint: it is saved.
    bool stops = options_.stop && options_.stop();
    bool may_come = false;
    Item* best = nullptr;
    for (const auto& item : items_) {
      may_come |= item->state == Item::State::kRunning;
      bool can_have = item->state == Item::State::kWaiting &&
                      !item->failed_at.contains(place.device) &&
                      (!stops || item->run);
      if (!can_have) continue;
      if (!best || key_of(*item) < key_of(*best)) best = item.get();
    }
    if (best) {
      best->state = Item::State::kRunning;
      place.item = best;
      return best;
    }
    if (!may_come) return nullptr;
    changed_.wait(lock);
  }
  return nullptr;
}

bool Orchestrator::train(Place& place, Item& item) {
  enter(place, item);
  Clock::time_point entered = Clock::now(), noted = entered;
  int64_t ticks = 0;
  while (item.run->tick()) {
    if (item.stops) stop_members(*item.run);
    ++ticks;
    Clock::time_point now = Clock::now();
    if (seconds_between(noted, now) < kPause) continue;
    note_progress(item, std::exchange(ticks, 0), seconds_between(noted, now));
    noted = now;
    if (seconds_between(entered, now) < options_.devices.quantum_s) continue;
    entered = now;
    bool is_at_end = steps_left(*item.run) == 0;  // the next tick is its last
    if (is_at_end || !should_give_way(place, item)) continue;
    leave(place, item);
    return false;
  }
  return true;
}

void Orchestrator::enter(Place& place, Item& item) {
  const JobDevices& devices = options_.devices;
  runtime::Budget budget{.bytes =
                             devices.share_bytes(std::max(devices.at_once, 1))};
  if (place.device->turn) {
    budget.seat = std::make_shared<runtime::ComputeSeat>(place.device->turn);
  }
  auto backend = item.work.open(place.device->id, budget);
  {
    std::lock_guard lock(mutex_);
    item.backend = std::move(backend);
    item.seat = budget.seat;
    if (item.seat) item.seat->set_rank(key_of(item));
  }
  if (item.work.moved) item.work.moved(item.backend.get());
  if (item.run) return item.run->resume(*item.backend);
  item.run = item.work.begin(*item.backend);
  std::lock_guard lock(mutex_);
  update_view(item);
}

void Orchestrator::leave(Place&, Item& item) {
  item.run->suspend();
  if (item.work.moved) item.work.moved(nullptr);
  std::lock_guard lock(mutex_);
  item.seat = nullptr;
  item.backend = nullptr;
}

void Orchestrator::put_back(Place& place, Item& item,
                            const std::exception_ptr& error, bool has_ended) {
  if (has_ended && item.run && item.run->ending() == Ending::kInterrupted) {
    std::lock_guard lock(mutex_);
    is_interrupted_ = true;
  }
  bool is_of_device = error && is_device_failure(item, place, error);
  if (has_ended || (error && !is_of_device)) end_item(item, error);
  if (is_of_device && item.work.moved) item.work.moved(nullptr);
  std::string words;
  std::unique_lock lock(mutex_);
  place.item = nullptr;
  if (is_of_device) {
    words = note_device_failure(place, item, error);
  } else if (!error) {
    place.device->failures = 0;
  }
  if (item.state == Item::State::kRunning) item.state = Item::State::kWaiting;
  changed_.notify_all();
  lock.unlock();
  if (!words.empty() && options_.say) options_.say(words);
}

// What the world did to a run that had begun may be the device's fault, unless
// it was tried on all others.
bool Orchestrator::is_device_failure(const Item& item, const Place& place,
                                     const std::exception_ptr& error) const {
  bool could_not_begin = item.backend && !item.run;
  if (could_not_begin) return false;
  try {
    std::rethrow_exception(error);
  } catch (const std::runtime_error&) {
    std::lock_guard lock(mutex_);
    return std::ranges::any_of(devices_, [&](const auto& other) {
      return other.get() != place.device && !other->is_left_out &&
             !item.failed_at.contains(other.get());
    });
  } catch (...) {
    return false;
  }
}

// It goes on elsewhere from its newest checkpoint. Under the lock.
std::string Orchestrator::note_device_failure(Place& place, Item& item,
                                              const std::exception_ptr& error) {
  item.failed_at.insert(place.device);
  item.error = error;
  item.run = nullptr;
  item.seat = nullptr;
  item.backend = nullptr;
  std::string words;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    words = fmt::format("{} failed on {} and is tried on another device: {}",
                        item.work.name, device_text(*place.device->id),
                        parts_of(e).text);
  }
  if (++place.device->failures < kMostFailures) return words;
  place.device->is_left_out = true;
  return fmt::format("{}\n{} is left out: {} jobs in a row failed there", words,
                     device_text(*place.device->id), place.device->failures);
}

void Orchestrator::end_item(Item& item, const std::exception_ptr& error) {
  item.work.end(item.run.get(), error);
  std::lock_guard lock(mutex_);
  item.state = Item::State::kEnded;
  item.run = nullptr;
  item.seat = nullptr;
  item.backend = nullptr;
}

bool Orchestrator::should_give_way(const Place& place, const Item& item) const {
  std::lock_guard lock(mutex_);
  double own = key_of(item);
  return std::ranges::any_of(items_, [&](const auto& other) {
    return other->state == Item::State::kWaiting &&
           !other->failed_at.contains(place.device) && key_of(*other) < own;
  });
}

void Orchestrator::note_progress(Item& item, int64_t ticks, double seconds) {
  std::lock_guard lock(mutex_);
  item.ticks += ticks;
  item.trained_s += seconds;
  update_view(item);
  if (item.seat) item.seat->set_rank(key_of(item));
}

// Under the lock.
void Orchestrator::update_view(Item& item) {
  int64_t left = steps_left(*item.run);
  item.view.steps_done = std::max<int64_t>(item.job.num_steps - left, 0);
  item.view.units_begun = item.view.steps_done;
  if (item.ticks == 0) return;
  double step_s = item.trained_s / static_cast<double>(item.ticks);
  item.job.units[0].compute_ns = nanoseconds(step_s);
  if (item.counted_s == 0) predicted_s_ += item.work.step_s;
  measured_s_ += step_s - std::exchange(item.counted_s, step_s);
}

// Under the lock. Steps of works that have not begun are predicted, and those
// that have say how good predictions are.
double Orchestrator::key_of(const Item& item) const {
  double step_ns = static_cast<double>(item.job.step_ns());
  if (item.ticks == 0 && predicted_s_ > 0)
    step_ns *= measured_s_ / predicted_s_;
  schedule::JobView view = item.view;
  auto of_steps = [&](int64_t steps) {
    return static_cast<int64_t>(
        std::min(static_cast<double>(steps) * step_ns, 4e18));
  };
  view.done_ns = of_steps(view.steps_done);
  view.left_ns = of_steps(item.job.num_steps - view.steps_done);
  return policy_.key(view);
}

std::vector<DeviceUse> Orchestrator::devices() const {
  std::lock_guard lock(mutex_);
  std::vector<DeviceUse> all;
  for (const auto& device : devices_) {
    DeviceUse use{.id = device->id.value_or(DeviceId{}),
                  .limit_bytes = options_.devices.memory_limit,
                  .is_left_out = device->is_left_out};
    if (device->turn) use.times = device->turn->times();
    for (const auto& place : places_) {
      if (place->device != device.get() || !place->item) continue;
      use.works.push_back(place->item->work.name);
      if (!place->item->backend) continue;
      use.memory_bytes += place->item->backend->account().used_bytes();
    }
    all.push_back(std::move(use));
  }
  return all;
}

}  // namespace braid::train
