#include "braid/train/jobs/joined_report.h"

#include <gtest/gtest.h>

#include <thread>

namespace braid::train {
namespace {

ArrayReport report_of(size_t jobs) {
  ArrayReport report;
  for (size_t i = 0; i < jobs; ++i) {
    report.members.push_back({.name = std::string(1, char('a' + i))});
  }
  return report;
}

// Keeps what it was told last, and sees that nobody else tells it meanwhile.
struct Log : Listener {
  void on_array(const ArrayReport& report) override {
    EXPECT_EQ(++inside, 1);
    last = report;
    --inside;
  }
  std::atomic<int> inside = 0;
  ArrayReport last;
};

TEST(JoinedReport, RunsTellOfTheirOwnJobsAlone) {
  ArrayReport all = report_of(3);
  Log log;
  JoinedReport joined(all, &log, [] {
    return std::vector<DeviceReport>{{.name = "cpu"}, {.name = "cpu:1"}};
  });
  auto first = joined.part({0, 2}), second = joined.part({1});
  first->move_to("cpu");
  second->move_to("cpu:1");
  first->report().members[2].state = MemberState::kTraining;
  first->report().members[2].step = 5;
  first->report().members[1].step = 99;  // not its own
  first->report().model_steps = 7;
  first->report().memory_bytes = 100;
  first->on_array(first->report());
  second->report().members[1].state = MemberState::kTraining;
  second->report().model_steps = 3;
  second->report().memory_bytes = 20;
  second->on_array(second->report());
  EXPECT_EQ(log.last.members[2].step, 5);
  EXPECT_EQ(log.last.members[2].device, "cpu");
  EXPECT_EQ(log.last.members[1].step, 0);
  EXPECT_EQ(log.last.members[1].device, "cpu:1");
  EXPECT_EQ(log.last.members[0].device, "");
  EXPECT_EQ(log.last.model_steps, 10);
  EXPECT_EQ(log.last.memory_bytes, 120);
  EXPECT_EQ(log.last.devices.size(), 2u);
}

// One that gave its device up waits, and goes on as it was.
TEST(JoinedReport, RunsWithoutADeviceWait) {
  ArrayReport all = report_of(1);
  JoinedReport joined(all, nullptr);
  auto part = joined.part({0});
  part->move_to("cpu");
  part->report().members[0].state = MemberState::kTraining;
  part->report().memory_bytes = 50;
  part->finish();
  EXPECT_EQ(all.members[0].state, MemberState::kTraining);
  EXPECT_EQ(all.memory_bytes, 50);
  part->move_to("");
  EXPECT_EQ(all.members[0].state, MemberState::kWaiting);
  EXPECT_EQ(all.memory_bytes, 0);
  part->move_to("cpu:3");
  EXPECT_EQ(all.members[0].state, MemberState::kTraining);
  EXPECT_EQ(all.members[0].device, "cpu:3");
}

TEST(JoinedReport, ManyRunsMayReportAtOnce) {
  constexpr size_t kRuns = 4;
  constexpr int64_t kSteps = 2000;
  ArrayReport all = report_of(kRuns);
  Log log;
  JoinedReport joined(all, &log);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kRuns; ++i) {
    threads.emplace_back([&joined, i] {
      auto part = joined.part({i});
      part->move_to("cpu");
      for (int64_t step = 1; step <= kSteps; ++step) {
        part->report().members[i].step = step;
        ++part->report().model_steps;
        part->on_array(part->report());
      }
      part->finish();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(all.model_steps, kSteps * int64_t{kRuns});
  for (const MemberReport& member : all.members) EXPECT_EQ(member.step, kSteps);
}

}  // namespace
}  // namespace braid::train
