// Members that are stopped, paused, promoted and added between steps end as
// alone.
#include <cmath>

#include "braid/train/run/run_checkpoint.h"
#include "braid/train/run/run_files.h"
#include "small_job.h"

namespace braid::train {
namespace {

class ControlTest : public SmallJobs {
 protected:
  static constexpr size_t kJobs = 4;

  ControlTest() {
    for (size_t i = 0; i < kJobs; ++i) {
      jobs_.push_back(std::make_unique<Job>(
          machine(),
          config("model: mlp(hidden=6,layers=2,dropout=0.2)\ndtype: f64\n"
                 "epochs: 4\nlog_every: 2\nschedule: cosine(steps=12)\n",
                 {fmt::format("seed={}", i + 1),
                  fmt::format("optimizer.lr={}", 0.01 * (1.0 + double(i)))})));
    }
  }

  RunMember member(size_t job, const std::string& root = "") const {
    std::string name = fmt::format("job-{}", job);
    RunMember made{.name = name, .job = jobs_[job].get()};
    if (!root.empty()) made.out = folder_.path() / root / name;
    return made;
  }
  std::vector<RunMember> members(size_t count,
                                 const std::string& root = "") const {
    std::vector<RunMember> all;
    for (size_t i = 0; i < count; ++i) all.push_back(member(i, root));
    return all;
  }
  // The folder of an array's own checkpoints.
  std::filesystem::path array_folder(const std::string& root) const {
    return folder_.path() / root / "array";
  }

  // After `steps` steps of a run of its own.
  io::Scalars alone(size_t job, int64_t steps) const {
    Job shorter(machine(), [&] {
      JobConfig config = jobs_[job]->config();
      config.steps = steps;
      config.eval.every = 1;
      return config;
    }());
    train::Run run(shorter, {});
    run.run();
    return run.evaluation();
  }

  static void expect_near(const io::Scalars& got, const io::Scalars& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].first, wanted[i].first);
      EXPECT_NEAR(got[i].second, wanted[i].second, 1e-9) << got[i].first;
    }
  }

  void expect_as_alone(const train::Run& run, size_t number, size_t job,
                       int64_t steps = 12) const {
    const MemberRun& member = *run.members()[number];
    EXPECT_EQ(member.record().step, steps) << number;
    if (steps % 3 == 0) {  // evaluated at the end of each epoch
      expect_near(member.evaluation(), alone(job, steps));
    }
  }

  std::vector<std::unique_ptr<Job>> jobs_;
};

// Calls an action after a number of steps, once.
struct Script {
  std::map<int64_t, std::function<void(train::Run&)>> actions;
  int64_t ticks = 0;
  void operator()(train::Run& run) {
    auto due = actions.find(ticks++);
    if (due != actions.end()) due->second(run);
  }
};

TEST_F(ControlTest, PausedMembersGoOnFromWhereTheyWere) {
  for (std::string root : {"", "paused"}) {
    Script script{{{3, [](train::Run& run) { run.pause(1); }},
                   {4, [](train::Run& run) { run.promote(1); }},
                   {5, [](train::Run& run) { run.pause(0); }},
                   {9, [](train::Run& run) { run.promote(0); }}}};
    train::Run run(members(3, root),
                   {.out = root.empty() ? "" : array_folder(root),
                    .control = [&](train::Run& r) { script(r); }});
    EXPECT_EQ(run.run(), Ending::kDone);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(run.members()[i]->state, MemberState::kDone) << i;
      expect_as_alone(run, i, i);
    }
  }
}

TEST_F(ControlTest, APromotionMayEndAtAStep) {
  Script script{{{0,
                  [](train::Run& run) {
                    for (size_t i : {0, 1, 2}) {
                      run.promote(i, 3);
                    }
                  }},
                 {3,
                  [](train::Run& run) {
                    for (const auto& member : run.members()) {
                      EXPECT_EQ(member->state, MemberState::kPaused);
                    }
                    run.promote(2, 6);
                    run.promote(0, 6);
                  }},
                 {6, [](train::Run& run) { run.promote(2); }}}};
  train::Run run(members(3), {.control = [&](train::Run& r) { script(r); }});
  run.run();
  EXPECT_EQ(run.members()[1]->state, MemberState::kPaused);
  expect_as_alone(run, 0, 0, 6);
  expect_as_alone(run, 1, 1, 3);
  expect_as_alone(run, 2, 2);
  EXPECT_FALSE(run.is_finished());  // they may be asked to go on
}

TEST_F(ControlTest, StoppedMembersMakeRoomForOthers) {
  std::vector<RunMember> three = members(3, "room");
  Script script{{{3, [](train::Run& run) { run.stop(0); }},
                 {4, [&](train::Run& run) {
                    EXPECT_EQ(run.add(member(3, "room")), 3u);
                  }}}};
  ReportLog seen;
  train::Run run(three, {.out = array_folder("room"),
                         .capacity = 2,
                         .control = [&](train::Run& r) { script(r); },
                         .listener = &seen});
  EXPECT_EQ(run.run(), Ending::kDone);
  EXPECT_EQ(run.members()[0]->state, MemberState::kStopped);
  expect_as_alone(run, 0, 0, 3);
  for (size_t i : {1, 2, 3}) expect_as_alone(run, i, i);
  // Each has its own folder, with a checkpoint of its last step.
  for (size_t i = 0; i < 4; ++i) {
    auto newest =
        io::newest_complete(checkpoints_path(run.members()[i]->out()));
    ASSERT_TRUE(newest.checkpoint) << i;
    EXPECT_EQ(newest.checkpoint->step, i == 0 ? 3 : 12);
  }
}

// What was decided before a kill is still so afterwards.
TEST_F(ControlTest, WhatWasDecidedIsRemembered) {
  {
    Script script{{{3, [](train::Run& run) { run.stop(0); }},
                   {4, [](train::Run& run) { run.pause(1); }}}};
    int64_t steps = 0;
    train::Run run(members(3, "kept"),
                   {.out = array_folder("kept"),
                    .stop = [&] { return ++steps > 7; },
                    .control = [&](train::Run& r) { script(r); }});
    EXPECT_EQ(run.run(), Ending::kInterrupted);
  }
  Script script{{{1, [](train::Run& run) { run.promote(1); }}}};
  train::Run run(members(3, "kept"),
                 {.out = array_folder("kept"),
                  .control = [&](train::Run& r) { script(r); }});
  EXPECT_EQ(run.members()[0]->state, MemberState::kStopped);
  EXPECT_EQ(run.members()[1]->state, MemberState::kPaused);
  EXPECT_EQ(run.members()[2]->record().step, 7);
  run.run();
  expect_as_alone(run, 0, 0, 3);
  expect_as_alone(run, 1, 1);
  expect_as_alone(run, 2, 2);
}

TEST_F(ControlTest, AMemberThatEndedCannotGoOn) {
  Script script{{{1, [](train::Run& run) {
                    run.stop(0);
                    run.stop(0);   // nothing more to stop
                    run.pause(0);  // nor to pause
                    EXPECT_THROW(run.promote(0), std::invalid_argument);
                  }}}};
  train::Run run(members(2), {.control = [&](train::Run& r) { script(r); }});
  run.run();
  EXPECT_EQ(run.members()[0]->state, MemberState::kStopped);
  EXPECT_THROW(run.add(member(2)), std::invalid_argument);
  expect_as_alone(run, 1, 1);
}

TEST_F(ControlTest, AJobMayComeToARunThatWasFinished) {
  train::Run(members(2, "late"), {.out = array_folder("late")}).run();
  std::vector<RunMember> all = members(2, "late");
  train::Run run(all, {.out = array_folder("late")});
  EXPECT_TRUE(run.is_finished());
  run.add(member(2, "late"));
  EXPECT_EQ(run.run(), Ending::kDone);
  for (size_t i : {0, 1, 2}) expect_as_alone(run, i, i);
}

// A rank other than 0: it goes on from the same files and writes none.
TEST_F(ControlTest, AProcessThatDoesNotWriteTrainsTheSame) {
  std::filesystem::path out = array_folder("shared");
  int64_t steps = 0;
  {
    train::Run run(members(2, "shared"),
                   {.out = out, .stop = [&] { return ++steps > 5; }});
    run.run();
  }
  auto listing = [&] {
    std::map<std::string, std::string> all;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (!entry.is_regular_file()) continue;
      all[entry.path().string()] = io::read_text(entry.path());
    }
    return all;
  };
  auto before = listing();
  Bits silent;
  {
    train::Run run(members(2, "shared"), {.out = out, .writes = false});
    EXPECT_EQ(run.members()[0]->record().step, 5);
    run.run();
    silent = bits_of(run);
  }
  EXPECT_TRUE(listing() == before);
  train::Run run(members(2, "shared"), {.out = out});
  run.run();
  EXPECT_TRUE(bits_of(run) == silent);
}

class LeaseNumber : public io::Fence {
 public:
  explicit LeaseNumber(int64_t number) : number_(number) {}
  void check() const override {}
  int64_t number() const override { return number_; }

 private:
  int64_t number_;
};

// A worker that was away comes back to what another goes on with.
TEST_F(ControlTest, AnArrayOfALaterLeaseIsNotReadByAnEarlierOne) {
  std::filesystem::path out = array_folder("lease");
  const LeaseNumber second(2), third(3), fourth(4);
  int64_t steps = 0;
  train::Run(members(2, "lease"),
             {.out = out, .fence = &third, .stop = [&] { return ++steps > 5; }})
      .run();
  try {
    train::Run run(members(2, "lease"), {.out = out, .fence = &second});
    ADD_FAILURE() << "went on with what another lease wrote";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("of lease 3"), std::string::npos)
        << error.what();
  }
  train::Run run(members(2, "lease"), {.out = out, .fence = &fourth});
  EXPECT_EQ(run.members()[0]->record().step, 5);
}

}  // namespace
}  // namespace braid::train
