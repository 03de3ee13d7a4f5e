// Loading overlaps with computing: while a step runs, the next batches are
// made. Time is counted in samples, so a slow machine cannot fail it.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "braid/train/run/run.h"

namespace braid::train {
namespace {

constexpr int64_t kBatch = 4;
constexpr int64_t kAhead = 2;  // data::LoaderOptions::prefetch

// The clock: how many samples were read, none of them to see what they hold.
class CountedData : public data::Dataset {
 public:
  CountedData()
      : Dataset("counted",
                {{"x", DType::kFloat32, {16}, 0, true},
                 {"y", DType::kInt64, {}, 4, true}},
                40) {}

  void read(int64_t index, const data::Draw&,
            std::span<std::byte* const> out) const override {
    std::memset(out[0], 0, 16 * sizeof(float));
    int64_t y = index % 4;
    std::memcpy(out[1], &y, sizeof y);
    ++reads_;
  }

  // Until that many were read, or for so long that they never will be.
  bool wait_for(int64_t reads) const {
    for (int i = 0; i < 20000 && reads_ < reads; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return reads_ >= reads;
  }
  int64_t reads() const { return reads_; }

 private:
  mutable std::atomic<int64_t> reads_ = 0;
};

// A step that lasts until the batches after it are there.
class SlowSteps : public Listener {
 public:
  explicit SlowSteps(const CountedData& data) : data_(data) {}

  void on_step(const StepReport& report) override {
    int64_t wanted = (report.step + kAhead) * kBatch;
    EXPECT_TRUE(data_.wait_for(wanted)) << "step " << report.step;
    EXPECT_EQ(data_.reads(), wanted);  // and no more than that
  }

 private:
  const CountedData& data_;
};

TEST(Overlap, BatchesAreMadeWhileAStepRuns) {
  auto machine = runtime::this_machine();
  auto data = std::make_shared<CountedData>();
  JobConfig config;
  config.model = "mlp(hidden=4)";
  config.batch_size = kBatch;
  config.steps = 25;
  Job job(*machine, config, {.train = data});
  SlowSteps listener(*data);
  train::Run run(job, {.listener = &listener});
  run.run();
  EXPECT_EQ(run.steps_done(), 25);
}

}  // namespace
}  // namespace braid::train
