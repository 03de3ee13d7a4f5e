// Loading overlaps computing: time is counted in ticks of a clock that the
// test moves. A read ends `load` ticks after it began; a step computes for
// `compute` ticks. No assertion looks at the real time; it only bounds how
// long a broken loader may keep us waiting.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "braid/data/loader.h"
#include "data/samples.h"

namespace braid::data {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

class Clock {
 public:
  // Of the loader's thread: blocks for that many ticks.
  void sleep(int64_t ticks) {
    std::unique_lock lock(mutex_);
    for (int64_t end = now_ + ticks; now_ < end;) {
      int64_t before = now_;
      asleep_at_ = now_;
      changed_.notify_all();
      if (!changed_.wait_for(lock, kPatience, [&] { return now_ > before; })) {
        throw std::runtime_error("the clock stands still");
      }
    }
    ++reads_;
    changed_.notify_all();
  }

  // Of the test: waits until the loader sleeps or has read `most` batches, as
  // far ahead as it may. False when it does neither.
  bool settle(int64_t most) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(
        lock, kPatience, [&] { return asleep_at_ == now_ || reads_ >= most; });
  }

  void tick() {
    std::lock_guard lock(mutex_);
    ++now_;
    changed_.notify_all();
  }

  int64_t now() {
    std::lock_guard lock(mutex_);
    return now_;
  }
  int64_t reads() {
    std::lock_guard lock(mutex_);
    return reads_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t now_ = 0;
  int64_t asleep_at_ = -1;
  int64_t reads_ = 0;
};

// Ticks until `steps` steps are done, or -1 when the loader does not load in
// the background. The first batch takes no time.
int64_t run_steps(int64_t steps, int64_t load, int64_t compute,
                  int64_t prefetch) {
  Clock clock;
  auto slow = std::make_shared<Numbers>(
      steps + 100, [&](int64_t i) { clock.sleep(i == 0 ? 0 : load); });
  Loader loader(slow,
                {.batch_size = 1, .shuffle = false, .prefetch = prefetch});
  for (int64_t step = 0; step < steps; ++step) {
    while (step > 0 && clock.reads() <= step) {
      clock.tick();
      if (!clock.settle(step + prefetch)) return -1;
    }
    EXPECT_NE(loader.next(), nullptr);
    for (int64_t i = 0; i < compute; ++i) {
      if (!clock.settle(step + 1 + prefetch)) return -1;
      clock.tick();
    }
    if (!clock.settle(step + 1 + prefetch)) return -1;
  }
  int64_t ticks = clock.now();
  // The loader's thread may sleep; let it go.
  std::jthread ticking([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      clock.tick();
      std::this_thread::yield();
    }
  });
  loader.seek({});
  return ticks;
}

TEST(LoaderOverlap, AStepTakesAsLongAsTheSlowerOfLoadAndCompute) {
  for (int64_t prefetch : {1, 2, 4}) {
    EXPECT_EQ(run_steps(20, 3, 5, prefetch), 20 * 5) << prefetch;
    EXPECT_EQ(run_steps(20, 5, 3, prefetch), 19 * 5 + 3) << prefetch;
    EXPECT_EQ(run_steps(20, 4, 4, prefetch), 20 * 4) << prefetch;
  }
}

}  // namespace
}  // namespace braid::data
