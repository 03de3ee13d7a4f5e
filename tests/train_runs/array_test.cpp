#include "braid/train/array/array.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "braid/train/run/run_checkpoint.h"
#include "live_members.h"

namespace braid::train {
namespace {

constexpr double kClose = 1e-9;  // of f64

class ArrayTest : public SmallJobs {
 protected:
  // Jobs that differ in everything that is a number.
  const Job& job(int number) {
    auto& made = jobs_[number];
    if (made) return *made;
    static const char* const kSchedules[] = {
        "constant", "cosine(steps=40,warmup=3)", "step(step_size=4,gamma=0.5)",
        "plateau(patience=1)"};
    made = std::make_unique<Job>(
        machine(),
        config(
            fmt::format("model: mlp(hidden=8,layers=2,dropout={})\n"
                        "dtype: f64\nsteps: 1000\nema: 0.9\nclip: {}\n"
                        "optimizer: {{kind: adamw, lr: {}, weight_decay: {}}}\n"
                        "schedule: {}\n",
                        0.05 + 0.1 * (number % 4), 0.5 + 0.25 * number,
                        0.002 * (1 + number % 5), 0.01 * (number % 3),
                        kSchedules[number % 4]),
            {fmt::format("seed={}", 100 + number)}));
    return *made;
  }

  std::vector<const Job*> jobs(int count) {
    std::vector<const Job*> all;
    for (int i = 0; i < count; ++i) all.push_back(&job(i));
    return all;
  }

  // Three jobs whose batches are cut into so many parts.
  std::vector<const Job*> cut_jobs(int64_t parts) {
    auto& made = cut_[parts];
    for (int seed = 1; made.size() < 3; ++seed) {
      made.push_back(std::make_unique<Job>(
          machine(), config("model: mlp(hidden=8,layers=2,dropout=0.1)\n"
                            "dtype: f64\nsteps: 9\nclip: 0.5\n",
                            {fmt::format("accumulate={}", parts),
                             fmt::format("seed={}", seed)})));
    }
    std::vector<const Job*> all;
    for (const auto& job : made) all.push_back(job.get());
    return all;
  }

  // What the job alone has after so many steps, once.
  const MemberContent& alone(const Job& job, int64_t steps) {
    auto& known = alone_[{&job, steps}];
    if (known.empty()) known = train_alone(job, steps);
    return known;
  }

  void expect_as_alone(LiveMembers& live, MemberId member,
                       const std::string& what = "") {
    const Job& of = live.job(member);
    EXPECT_LT(
        difference(alone(of, live.steps(member)), live.array().content(member)),
        kClose)
        << what << " member " << member << " after " << live.steps(member);
  }

 private:
  std::map<int, std::unique_ptr<Job>> jobs_;
  std::map<int64_t, std::vector<std::unique_ptr<Job>>> cut_;  // by parts
  std::map<std::pair<const Job*, int64_t>, MemberContent> alone_;
};

// Batches that are cut, with a short one that cannot be cut as often.
TEST_F(ArrayTest, MicroBatchesAreThoseOfTheJobAlone) {
  for (plan::Order order : plan::kOrders) {
    for (int64_t parts : {2, 4}) {
      for (int64_t capacity : {1, 2, 3}) {
        compile::PlanRequest plan{.named = plan::NamedPlan{}};
        plan.named->order = order;
        LiveMembers live(cut_jobs(parts), capacity, plan);
        for (int64_t k = 0; k < capacity; ++k) {
          live.add(*cut_jobs(parts)[static_cast<size_t>(k)]);
        }
        for (int step = 0; step < 7; ++step) live.step();
        for (MemberId member : live.array().members()) {
          expect_as_alone(live, member,
                          fmt::format("{} lanes, {} parts, {}", capacity, parts,
                                      plan::order_name(order)));
        }
      }
    }
  }
}

TEST_F(ArrayTest, EveryMemberIsAsIfItWereAlone) {
  for (int count : {1, 2, 3, 5, 8}) {
    LiveMembers live(jobs(count), count);
    for (int i = 0; i < count; ++i) live.add(job(i));
    for (int i = 0; i < 7; ++i) live.step();
    for (MemberId member : live.array().members()) {
      expect_as_alone(live, member, fmt::format("of {}", count));
    }
  }
}

TEST_F(ArrayTest, AMemberBeginsInTheBitsOfItsJob) {
  LiveMembers live(jobs(3), 4);
  for (int i = 0; i < 3; ++i) live.add(job(i));
  for (MemberId member : live.array().members()) {
    MemberContent own = live.array().content(member);
    for (const auto& [name, bytes] : alone(live.job(member), 0)) {
      EXPECT_TRUE(own.at(name) == bytes) << name;
    }
  }
}

TEST_F(ArrayTest, MembersMayEnterAtDifferentTimes) {
  LiveMembers live(jobs(4), 4);
  for (int i = 0; i < 4; ++i) {
    live.add(job(i));
    for (int k = 0; k <= i; ++k) live.step();
  }
  for (MemberId member : live.array().members()) {
    expect_as_alone(live, member);
  }
}

TEST_F(ArrayTest, EnteringAndLeavingCompilesNothing) {
  LiveMembers live(jobs(4), 3);
  const runtime::Executables* programs = &live.array().programs();
  MemberId first = live.add(job(0));
  MemberId second = live.add(job(1));
  live.step();
  live.drop(first);
  live.step();
  MemberId third = live.replace(second, job(2));
  live.step();
  EXPECT_EQ(&live.array().programs(), programs);
  EXPECT_EQ(live.array().members(), std::vector<MemberId>{third});
  EXPECT_FALSE(live.array().has(first));
  expect_as_alone(live, third);
}

TEST_F(ArrayTest, OthersKeepTheirBitsWhenAMemberLeavesOrPauses) {
  auto last_content = [&](bool drops) {
    LiveMembers live(jobs(3), 3);
    std::vector<MemberId> ids;
    for (int i = 0; i < 3; ++i) ids.push_back(live.add(job(i)));
    for (int i = 0; i < 3; ++i) live.step();
    if (drops) live.drop(ids[1]);
    for (int i = 0; i < 3; ++i) live.step();
    return live.array().content(ids[2]);
  };
  EXPECT_TRUE(last_content(true) == last_content(false));
}

TEST_F(ArrayTest, AMemberWithoutATurnStaysInItsBits) {
  LiveMembers live(jobs(2), 2);
  MemberId a = live.add(job(0)), b = live.add(job(1));
  live.step();
  MemberContent before = live.array().content(b);
  data::Loader loader(job(0).data().train, job(0).loader_options());
  const data::Batch& batch = *loader.next();
  Array::Turn turn{a, 1};
  live.array().step(0, std::span(&turn, 1), {batch, batch});
  EXPECT_TRUE(live.array().content(b) == before);
  EXPECT_FALSE(live.array().content(a) == before);
}

TEST_F(ArrayTest, GrowsAndShrinks) {
  LiveMembers live(jobs(5), 2);
  live.add(job(0));
  MemberId second = live.add(job(1));
  EXPECT_THROW(live.add(job(2)), std::invalid_argument);
  live.step();
  live.array().resize(4);
  live.add(job(2));
  MemberId fourth = live.add(job(3));
  live.step();
  live.drop(second);
  live.array().compact();
  EXPECT_EQ(live.array().capacity(), 3);
  EXPECT_EQ(live.array().lane(fourth), 2);
  EXPECT_THROW(live.array().resize(2), std::invalid_argument);
  live.step();
  for (MemberId member : live.array().members()) {
    expect_as_alone(live, member);
  }
}

TEST_F(ArrayTest, WhatDoesNotFitTheLimitChangesNothing) {
  auto backend = machine().open({}, {.bytes = 400'000});
  Array array(jobs(2), *backend, {.form = {.capacity = 2}});
  MemberId first = array.add(job(0));
  MemberContent before = array.content(first);
  EXPECT_THROW(array.resize(2000), std::runtime_error);
  EXPECT_EQ(array.capacity(), 2);
  EXPECT_TRUE(array.content(first) == before);
}

TEST_F(ArrayTest, SplitsAndMerges) {
  LiveMembers live(jobs(3), 3);
  MemberId a = live.add(job(0)), b = live.add(job(1));
  for (int i = 0; i < 4; ++i) live.step();
  // A member goes on alone,
  LiveMembers single({&job(1)}, 0);
  MemberId split = single.add(job(1), live.array().content(b), 4);
  live.drop(b);
  for (int i = 0; i < 3; ++i) single.step();
  expect_as_alone(single, split, "split");
  // one that was alone joins,
  MemberId joined = live.add(job(2), alone(job(2), 5), 5);
  live.step();
  expect_as_alone(live, joined, "joined");
  // and the one that left comes back.
  MemberId back = live.add(job(1), single.array().content(split), 7);
  live.step();
  expect_as_alone(live, back, "back");
  expect_as_alone(live, a, "stayed");
}

TEST_F(ArrayTest, ContentOfAnotherKindIsRefused) {
  LiveMembers live(jobs(2), 2);
  MemberContent content = alone(job(0), 1);
  MemberContent lacking = content, strange = content, wide = content;
  lacking.erase("counter/step");
  strange["fc9.weight"] = {};
  wide.begin()->second.resize(9);
  for (const MemberContent& bad : {lacking, strange, wide}) {
    EXPECT_THROW(live.array().add(job(0), bad), std::invalid_argument);
    EXPECT_EQ(live.array().size(), 0);
  }
}

// Jobs whose models differ in some layers.
class PartialArray : public ArrayTest {
 protected:
  PartialArray() {
    const char* const models[] = {"mlp(hidden=8,layers=2,dropout=0.1)",
                                  "mlp(hidden=8,layers=3,dropout=0.3)",
                                  "mlp(hidden=8,layers=2,dropout=0.2)",
                                  "mlp(hidden=8,layers=1,dropout=0.2)"};
    for (const char* model : models) {
      made_.push_back(std::make_unique<Job>(
          machine(),
          config(fmt::format("model: {}\ndtype: f64\nsteps: 1000\nclip: 1\n"
                             "schedule: cosine(steps=40)\n",
                             model),
                 {fmt::format("seed={}", 7 + made_.size())})));
      differing_.push_back(made_.back().get());
    }
  }

  std::vector<const Job*> differing_;

 private:
  std::vector<std::unique_ptr<Job>> made_;
};

TEST_F(PartialArray, EveryMemberIsAsIfItWereAlone) {
  EXPECT_FALSE(are_alike(differing_));
  LiveMembers live(differing_, 4);
  EXPECT_TRUE(live.array().is_partial());
  for (const Job* job : differing_) live.add(*job);
  for (int i = 0; i < 7; ++i) live.step();
  for (MemberId member : live.array().members()) {
    expect_as_alone(live, member);
  }
}

TEST_F(PartialArray, MembersLeaveAndComeBackToTheirLanes) {
  LiveMembers live(differing_, 4);
  std::vector<MemberId> ids;
  for (const Job* job : differing_) ids.push_back(live.add(*job));
  for (int i = 0; i < 4; ++i) live.step();
  live.drop(ids[1]);
  EXPECT_THROW(live.add(*differing_[0]), std::invalid_argument);
  EXPECT_THROW(live.replace(ids[0], *differing_[1]), std::invalid_argument);
  live.step();
  live.array().compact();
  EXPECT_EQ(live.array().capacity(), 3);
  live.step();
  MemberId back = live.add(*differing_[1]);
  live.step();
  EXPECT_EQ(live.array().capacity(), 4);
  expect_as_alone(live, back);
  for (MemberId member : live.array().members()) {
    expect_as_alone(live, member);
  }
}

TEST_F(PartialArray, NeedsALaneForEachOfThem) {
  auto backend = open_cpu();
  EXPECT_THROW(Array(differing_, *backend, {.form = {.capacity = 3}}),
               std::invalid_argument);
}

// Numbers for sequences of changes, the same for the same seed.
class Dice {
 public:
  explicit Dice(int seed) : random_(static_cast<uint64_t>(seed)) {}

  int below(int count) {
    return std::uniform_int_distribution<int>(0, count - 1)(random_);
  }

 private:
  std::mt19937_64 random_;
};

std::string member_prefix(MemberId member) {
  return fmt::format("{}.", member);
}

// One checkpoint of all members.
io::CheckpointDir save_members(LiveMembers& live,
                               const std::filesystem::path& root) {
  std::vector<io::OwnedCheckpointFile> files;
  for (MemberId member : live.array().members()) {
    for (io::OwnedCheckpointFile& file : checkpoint_files(
             live.array().state(), live.job(member).model().networks(),
             live.array().lane(member))) {
      file.name = member_prefix(member) + file.name;
      files.push_back(std::move(file));
    }
  }
  io::CheckpointWriter writer(root, 1);
  writer.save(1, std::move(files), {});
  writer.finish();
  return io::newest_complete(root).checkpoint.value();
}

// What a new process makes of that checkpoint when the array was killed.
std::unique_ptr<LiveMembers> resumed(LiveMembers& live,
                                     const std::vector<const Job*>& kinds) {
  std::filesystem::path root = std::filesystem::path(testing::TempDir()) /
                               fmt::format("braid_array_test.{}", getpid());
  io::CheckpointDir checkpoint = save_members(live, root);
  auto next = std::make_unique<LiveMembers>(kinds, live.array().capacity());
  for (MemberId member : live.array().members()) {
    const Job& job = live.job(member);
    int64_t lane = live.array().lane(member);
    next->add(job, lane, live.steps(member));
    restore_state(checkpoint, next->array().state(), job.model().networks(),
                  lane, member_prefix(member));
  }
  std::filesystem::remove_all(root);
  return next;
}

TEST_F(ArrayTest, AnySequenceOfChangesIsAsIfAlone) {
  constexpr int kJobs = 9;
  bool is_long = std::getenv("BRAID_TEST_LONG") != nullptr;
  int sequences = is_long ? 1000 : 25;
  for (int s = 0; s < sequences; ++s) {
    Dice random(s);
    auto live = std::make_unique<LiveMembers>(jobs(kJobs), 1 + random.below(4));
    struct Away {
      const Job* job;
      MemberContent content;
      int64_t steps;
    };
    std::vector<Away> away;  // split members
    auto any = [&] {
      auto members = live->array().members();
      return members[static_cast<size_t>(
          random.below(static_cast<int>(members.size())))];
    };
    auto has_room = [&] {
      return live->array().size() < live->array().capacity();
    };
    for (int change = 0; change < 12; ++change) {
      bool has_members = live->array().size() > 0;
      switch (random.below(9)) {
        case 0:
        case 1:
          if (has_room()) live->add(job(random.below(kJobs)));
          break;
        case 2:
          if (has_members) live->drop(any());
          break;
        case 3:
          if (has_members) live->replace(any(), job(random.below(kJobs)));
          break;
        case 4:  // split
          if (has_members) {
            MemberId member = any();
            away.push_back({&live->job(member), live->array().content(member),
                            live->steps(member)});
            live->drop(member);
          }
          break;
        case 5:  // merge
          if (!away.empty() && has_room()) {
            live->add(*away.back().job, away.back().content, away.back().steps);
            away.pop_back();
          }
          break;
        case 6:
          if (has_members) live->array().compact();
          break;
        case 7: live->array().resize(live->array().capacity() + 1); break;
        case 8:  // killed
          if (has_members) live = resumed(*live, jobs(kJobs));
          break;
      }
      if (live->array().size() == 0) continue;
      for (int k = random.below(4); k > 0; --k) live->step();
    }
    for (MemberId member : live->array().members()) {
      expect_as_alone(*live, member, fmt::format("sequence {}", s));
    }
    for (const Away& member : away) {
      EXPECT_LT(difference(alone(*member.job, member.steps), member.content),
                kClose);
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace braid::train
