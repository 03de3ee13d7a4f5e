#include "braid/plan/solve/replay.h"

#include <gtest/gtest.h>

#include <cmath>

#include "braid/plan/solve/evaluator.h"
#include "plan/solve/event_simulator.h"
#include "plan/solve/instances.h"

namespace braid::plan {
namespace {

int64_t same(int64_t duration) { return duration; }

Instance small_instance(Random& random, int number) {
  RandomInstance form = form_of(number);
  form.least_segments = 1;
  form.most_segments = 6;
  return random_instance(random, form);
}

int any_depth(Random& random) {
  return static_cast<int>(number_between(random, 0, 5));
}

TEST(Replay, OneSegmentByHand) {
  Mode mode{.f = 10, .b = 20, .hf = 3, .hb = 4, .of = 5, .ob = 6, .u = 7};
  mode.xf = 100;
  mode.wf = 30;
  mode.lf = 50;
  mode.keep = 8;
  Instance instance{.depths = {0}, .segments = {{"a", {mode}}}};
  Timeline t = replay(instance, 0, std::vector<int32_t>{0});
  // Copy in, compute, copy out; then the same backward, then the update.
  EXPECT_EQ(t.time_ns, 3 + 10 + 5 + 4 + 20 + 6 + 7);
  EXPECT_EQ(t.slots[0].bytes, 100 + 30 + 8);
  EXPECT_EQ(t.slots[1].bytes, 8);
  EXPECT_EQ(t.peak_bytes, 138);
  EXPECT_EQ(t.binding_slot, 0);
  EXPECT_EQ(t.streams[size_t(Stream::kCompute)].busy_ns, 30);
  EXPECT_EQ(t.streams[size_t(Stream::kHostUpdate)].finish_ns, t.time_ns);
  // With depth the copy back in goes beside the computing.
  t = replay(instance, 1, std::vector<int32_t>{0});
  EXPECT_EQ(t.time_ns, 3 + 10 + 20 + 6 + 7);
  EXPECT_EQ(t.slots[1].bytes, 8 + 50);
}

TEST(Replay, AGradientThatStaysCountsToTheEnd) {
  Mode mode{.f = 1, .b = 1};
  mode.grad = mode.xb = 10;
  Instance instance{.depths = {0}, .segments = {{"a", {mode}}, {"b", {mode}}}};
  EXPECT_EQ(slot_bytes(instance, 0, std::vector<int32_t>{0, 0}),
            (std::vector<int64_t>{0, 0, 10, 20}));
}

TEST(Replay, AnEdgeHoldsItsBytesForwardAndBackward) {
  Mode mode{.f = 1, .b = 1};
  Instance instance{.depths = {0},
                    .segments = {{"a", {mode}}, {"b", {mode}}, {"c", {mode}}},
                    .edges = {{0, 1, 5}}};
  EXPECT_EQ(slot_bytes(instance, 0, std::vector<int32_t>{0, 0, 0}),
            (std::vector<int64_t>{5, 5, 0, 0, 5, 5}));
}

TEST(Replay, EqualsAStepPlayedEventByEvent) {
  Random random(1);
  for (int k = 0; k < long_or_short(20000, 1500); ++k) {
    Instance instance = small_instance(random, k);
    std::vector<int32_t> modes = random_modes(random, instance);
    int depth = any_depth(random);
    Played played = EventSimulator(instance, depth, modes).play(same);
    Timeline timeline = replay(instance, depth, modes);
    ASSERT_EQ(timeline.time_ns, played.time) << k;
    ASSERT_LE(played.most_alive, timeline.peak_bytes) << k;
  }
}

// Durations that differ from the profile by as much as x0.01 or x30.
struct Scatter {
  Random& random;
  int64_t operator()(int64_t duration) const {
    std::uniform_real_distribution<double> log(std::log(0.01), std::log(30));
    return std::llround(static_cast<double>(duration) * std::exp(log(random)));
  }
};

// How often bytes alive pass the peak of the plan.
int count_passed(bool naive, int replays) {
  Random random(2);
  int passed = 0;
  for (int k = 0; k < replays; ++k) {
    Instance instance = small_instance(random, k);
    std::vector<int32_t> modes = random_modes(random, instance);
    int depth = any_depth(random);
    Played played =
        EventSimulator(instance, depth, modes, naive).play(Scatter{random});
    EXPECT_GE(played.time, 0) << k;
    auto bytes = slot_bytes(instance, depth, modes);
    passed += played.most_alive > *std::ranges::max_element(bytes);
  }
  return passed;
}

TEST(Replay, BytesNeverPassThePeakHoweverWrongTheTimesAre) {
  EXPECT_EQ(count_passed(false, long_or_short(40000, 4000)), 0);
}

TEST(Replay, WithoutTheGateTheyWouldPassIt) {
  EXPECT_GT(count_passed(true, 2000), 0);
}

TEST(Evaluator, IsReplayWhateverWasTriedBefore) {
  Random random(3);
  for (int k = 0; k < long_or_short(2000, 200); ++k) {
    Instance instance = small_instance(random, k);
    int depth = any_depth(random);
    Evaluator plan(instance, depth);
    for (int change = 0; change < 30; ++change) {
      auto segment = static_cast<int>(
          number_between(random, 0, instance.num_segments() - 1));
      plan.set(segment, static_cast<int32_t>(number_between(random, 0, 11)));
      if (one_in(random, 3)) plan.undo();
      if (one_in(random, 3)) plan.keep();
      Timeline timeline = replay(instance, depth, plan.modes());
      ASSERT_EQ(plan.time(), timeline.time_ns);
      ASSERT_EQ(plan.peak(), timeline.peak_bytes);
      ASSERT_EQ(plan.host(), timeline.host_bytes);
      for (int p = 0; p < instance.num_slots(); ++p) {
        ASSERT_EQ(plan.bytes_in(p), timeline.slots[size_t(p)].bytes);
      }
    }
  }
}

}  // namespace
}  // namespace braid::plan
