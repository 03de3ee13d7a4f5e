#include "braid/plan/simulator.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "op_table.h"
#include "passes/model_steps.h"
#include "plan/program_checker.h"
#include "plan/random_plans.h"

namespace braid::plan {
namespace {

// A row of slots as in the static schedule. Slot p runs run[p] seconds; it
// fetches fetch[p] seconds before, evicts evict[p] after, and update[p]
// follows on the host. A fetch may read what slot after[p] evicted (-1: none).
struct Schedule {
  int depth = 1;
  std::vector<double> run, fetch, evict, update;
  std::vector<int> after;
  size_t size() const { return run.size(); }
};

// Its Program, by the rule of the gates: when slot p opens, evictions older
// than `depth` slots are awaited and fetches for slot p + depth are issued.
class ScheduleProgram {
 public:
  explicit ScheduleProgram(const Schedule& schedule)
      : schedule_(schedule), program_(Graph(table())) {
    ValueId x = program_.graph.add_input("x", {DType::kFloat32, {1}});
    program_.graph.add("copy", {x});
    for (size_t p = 0; p < schedule.size(); ++p) {
      program_.calls.push_back({.node = 0, .inputs = {}, .outputs = {}});
      fetched_.push_back(add_place(64 * static_cast<int64_t>(p + 1)));
      evicted_.push_back(add_place(64 * static_cast<int64_t>(p + 1)));
    }
    program_.num_events = event(schedule.size(), kFetching);
    for (size_t p = 0; p < schedule.size(); ++p) add_slot(p);
    for (size_t p = 0; p < schedule.size(); ++p) {
      wait(event(p, kEviction));
      wait(event(p, kUpdating));
    }
  }

  const Program& program() const { return program_; }

  double seconds(const Instruction& i) const {
    if (is_run(i)) return schedule_.run[size_t(i.call)];
    auto p = static_cast<size_t>(i.event) / kEvents;
    return is_fetch(i)   ? schedule_.fetch[p]
           : is_evict(i) ? schedule_.evict[p]
                         : schedule_.update[p];
  }

 private:
  enum Role { kFetching, kEviction, kUpdating, kEvents };
  static int32_t event(size_t p, Role role) {
    return static_cast<int32_t>(kEvents * p + role);
  }

  int32_t add_place(int64_t bytes) {
    program_.allocations.push_back({.bytes = bytes, .path = ""});
    return static_cast<int32_t>(program_.allocations.size()) - 1;
  }

  void push(Instruction instruction) {
    program_.instructions.push_back(instruction);
  }
  void wait(int32_t awaited) {
    push({.opcode = Opcode::kWait, .waits = {awaited}});
  }

  void add_fetch(size_t q) {
    int dep = schedule_.after[q];
    push({.opcode = Opcode::kCopy,
          .stream = Stream::kHostToDevice,
          .target = fetched_[q],
          .event = event(q, kFetching),
          .waits = dep < 0 ? std::vector<int32_t>{}
                           : std::vector{event(size_t(dep), kEviction)}});
  }

  void add_slot(size_t p) {
    auto d = static_cast<size_t>(schedule_.depth);
    if (p > d) wait(event(p - d - 1, kEviction));
    while (next_fetch_ < schedule_.size() && next_fetch_ <= p + d) {
      add_fetch(next_fetch_++);
    }
    wait(event(p, kFetching));
    program_.calls[p].inputs = {fetched_[p]};
    program_.calls[p].outputs = {evicted_[p]};
    push({.call = static_cast<int32_t>(p)});
    push({.opcode = Opcode::kCopy,
          .stream = Stream::kDeviceToHost,
          .source = evicted_[p],
          .event = event(p, kEviction)});
    push({.stream = Stream::kHostUpdate,
          .call = static_cast<int32_t>(p),
          .event = event(p, kUpdating),
          .waits = {event(p, kEviction)}});
  }

  const Schedule& schedule_;
  Program program_;
  std::vector<int32_t> fetched_, evicted_;
  size_t next_fetch_ = 0;
};

// The recursion of the planner: c, h, o, u are completion times on compute,
// h2d, d2h and host; a missing one is 0.
double recursion(const Schedule& s) {
  auto n = static_cast<int>(s.size());
  std::vector<double> c(s.size()), h(s.size()), o(s.size()), u(s.size());
  auto at = [](const std::vector<double>& list, int i) {
    return i < 0 ? 0.0 : list[static_cast<size_t>(i)];
  };
  auto gate = [&](int p) {
    return p < 0 ? 0.0 : std::max(at(c, p - 1), at(o, p - s.depth - 1));
  };
  int fetched = 0;
  for (int p = 0; p < n; ++p) {
    auto i = static_cast<size_t>(p);
    for (; fetched < n && fetched <= p + s.depth; ++fetched) {
      auto q = static_cast<size_t>(fetched);
      double issue = gate(std::max(fetched - s.depth, 0));
      h[q] =
          std::max({at(h, fetched - 1), issue, at(o, s.after[q])}) + s.fetch[q];
    }
    c[i] = std::max(gate(p), h[i]) + s.run[i];
    o[i] = std::max(at(o, p - 1), c[i]) + s.evict[i];
    u[i] = std::max(at(u, p - 1), o[i]) + s.update[i];
  }
  return std::max({c.back(), o.back(), u.back()});
}

Prediction simulate(const ScheduleProgram& made, const Sharing& sharing = {}) {
  auto seconds = [&](const Program&, const Instruction& i) {
    return made.seconds(i);
  };
  return simulate(made.program(), seconds, sharing);
}

Schedule random_schedule(Random& random) {
  Schedule s;
  s.depth = below(random, 5);
  int slots = 1 + below(random, 12);
  for (int p = 0; p < slots; ++p) {
    s.run.push_back(below(random, 20));
    s.fetch.push_back(below(random, 3) ? below(random, 60) : 0);
    s.evict.push_back(below(random, 3) ? below(random, 60) : 0);
    s.update.push_back(below(random, 3) ? 0 : below(random, 60));
    int issued = p - s.depth;  // slots that ran when the fetch is issued
    s.after.push_back(issued > 0 && below(random, 2) ? below(random, issued)
                                                     : -1);
  }
  return s;
}

TEST(Simulator, EqualsARecursionByHand) {
  // Depth 1: fetch 1 hides behind run 0; the eviction of 0 delays slot 2.
  Schedule s{.depth = 1,
             .run = {10, 10, 10},
             .fetch = {5, 8, 2},
             .evict = {30, 1, 1},
             .update = {0, 0, 0},
             .after = {-1, -1, -1}};
  // h: 5, 13, 17; c: 15, 25, 55 (waits for eviction 0 at 45); o: 45, 46, 56.
  EXPECT_DOUBLE_EQ(simulate(ScheduleProgram(s)).time_s, 56);
  EXPECT_DOUBLE_EQ(simulate(ScheduleProgram(s)).compute_s, 30);
  s.update[0] = 20;  // from 45 to 65
  EXPECT_DOUBLE_EQ(simulate(ScheduleProgram(s)).time_s, 65);
  s.after[2] = 0;  // fetch 2 from 45 to 47 instead of 15 to 17
  EXPECT_DOUBLE_EQ(simulate(ScheduleProgram(s)).time_s, 65);
  s.update[0] = 0;  // c: 15, 25, 57; o: 45, 46, 58
  EXPECT_DOUBLE_EQ(simulate(ScheduleProgram(s)).time_s, 58);
}

// What bounds a step from below says what is shared.
TEST(Simulator, CountsWhatIsShared) {
  Schedule s{.depth = 2,
             .run = {100, 100},
             .fetch = {5, 8},
             .evict = {30, 1},
             .update = {4, 0},
             .after = {-1, -1}};
  Prediction apart = simulate(ScheduleProgram(s));
  EXPECT_DOUBLE_EQ(apart.compute_s, 200);
  EXPECT_DOUBLE_EQ(apart.transfer_s, 31);
  Prediction bus = simulate(ScheduleProgram(s), {.bus = true});
  EXPECT_DOUBLE_EQ(bus.compute_s, 200);
  EXPECT_DOUBLE_EQ(bus.transfer_s, 44);
  Prediction cores =
      simulate(ScheduleProgram(s), {.cores = true, .to_copies = 0.5});
  EXPECT_DOUBLE_EQ(cores.compute_s, 200 + 4 + 22);
  EXPECT_GE(cores.time_s, cores.compute_s);
}

TEST(Simulator, EqualsTheMaxPlusRecursion) {
  Random random(31);
  for (int round = 0; round < 2000; ++round) {
    Schedule s = random_schedule(random);
    ASSERT_DOUBLE_EQ(simulate(ScheduleProgram(s)).time_s, recursion(s))
        << round << " depth " << s.depth;
  }
}

TEST(Simulator, LongerPartsNeverShortenAStep) {
  Random random(32);
  for (int round = 0; round < 500; ++round) {
    Schedule s = random_schedule(random);
    double before = simulate(ScheduleProgram(s)).time_s;
    auto p = static_cast<size_t>(below(random, static_cast<int>(s.size())));
    double more = below(random, 30);
    (below(random, 2)   ? s.run
     : below(random, 2) ? s.fetch
                        : s.evict)[p] += more;
    double after = simulate(ScheduleProgram(s)).time_s;
    EXPECT_GE(after, before);
    EXPECT_LE(after, before + more);
  }
}

TEST(Simulator, CountsBytesFromFirstToLastUse) {
  // Depth 0 and slots of 64, 128 bytes: slot 1 holds its two places.
  Schedule s{.depth = 0,
             .run = {1, 1},
             .fetch = {1, 1},
             .evict = {1, 1},
             .update = {0, 0},
             .after = {-1, -1}};
  EXPECT_EQ(simulate(ScheduleProgram(s)).live_peak_bytes, 2 * 128);
  // Depth 1: what slot 0 evicts is there while slot 1 runs.
  s.depth = 1;
  EXPECT_EQ(simulate(ScheduleProgram(s)).live_peak_bytes, 64 + 2 * 128);
}

TEST(Simulator, RepeatsTheMicroPart) {
  passes::StepGraph step =
      small_step(table(), small_models()[0], {.micro_batches = 3});
  Program program = compile(table(), step, keep_all(8));
  int32_t at = 0, micro = 0, update = 0;
  for (const Instruction& i : program.instructions) {
    (at++ < program.update_begin ? micro : update) += is_run(i);
  }
  auto one_second = [](const Program&, const Instruction&) { return 1.0; };
  EXPECT_EQ(simulate(program, one_second).time_s, 3 * micro + update);
}

// The replays below see a program whose gates do not hold.
TEST(Simulator, WithoutGatesLiveBytesWouldPassThePlan) {
  Random random(34);
  size_t segments = num_segments(table(), small_models()[0]);
  Plan plan = uniform(segments, {Activations::kOffload, Parameters::kSpilled});
  Program program =
      compile(table(), small_step(table(), small_models()[0]), plan);
  std::vector<Instruction> late;
  std::set<int32_t> evictions;
  for (const Instruction& i : program.instructions) {
    if (is_evict(i)) evictions.insert(i.event);
  }
  std::erase_if(program.instructions, [&](const Instruction& i) {
    bool gate = is_wait(i) && evictions.contains(i.waits[0]);
    if (gate) late.push_back(i);
    return gate;
  });
  program.instructions.insert(program.instructions.end(), late.begin(),
                              late.end());
  int passed = 0;
  Durations durations = durations_at(
      table(), {.to_device_bytes_per_s = 1e7, .to_host_bytes_per_s = 1e7});
  for (int replay = 0; replay < 100; ++replay) {
    Prediction p = simulate(program, scaled(durations, random, 0.01, 30));
    passed += p.live_peak_bytes > p.peak_bytes;
  }
  EXPECT_GT(passed, 0);
}

class SimulateModels : public testing::TestWithParam<std::string> {
 protected:
  static int replays() { return std::getenv("BRAID_TEST_LONG") ? 20000 : 2000; }
};

// The promise of the gates: whatever the clock does, live bytes stay within
// what the plan reserves. Replays are shared between the four models.
TEST_P(SimulateModels, LiveBytesNeverPassThePlanWhateverTheClockDoes) {
  Random random(33);
  size_t segments = num_segments(table(), GetParam());
  constexpr int kReplaysPerPlan = 20;
  for (int done = 0; done < replays() / 4; done += kReplaysPerPlan) {
    passes::StepGraph step = small_step(
        table(), GetParam(), {.micro_batches = 1 + below(random, 2)});
    Plan plan = random_plan(random, segments, 5);
    Program program = compile(table(), step, plan, made_up_workspace);
    // From links that hide behind every call to links that delay all of them.
    double link = random_factor(random, 1e6, 1e10);
    Durations durations = durations_at(
        table(), {.to_device_bytes_per_s = link, .to_host_bytes_per_s = link});
    for (int replay = 0; replay < kReplaysPerPlan; ++replay) {
      Prediction p = simulate(program, scaled(durations, random, 0.01, 30));
      ASSERT_LE(p.live_peak_bytes, p.peak_bytes) << plan_text(plan);
      ASSERT_EQ(p.peak_bytes, program.peak_bytes());
      ASSERT_EQ(p.host_bytes, program.host_bytes());
      ASSERT_GE(p.time_s, p.compute_s);
    }
  }
}

TEST_P(SimulateModels, AStepOfKeptSegmentsIsItsComputeTime) {
  size_t segments = num_segments(table(), GetParam());
  Program program =
      compile(table(), small_step(table(), GetParam()), keep_all(segments));
  Prediction p = simulate(program, durations_at(table(), {}));
  EXPECT_DOUBLE_EQ(p.time_s, p.compute_s);
  EXPECT_GT(p.time_s, 0);
}

TEST_P(SimulateModels, TransfersCostTimeOnASlowLink) {
  size_t segments = num_segments(table(), GetParam());
  passes::StepGraph step = small_step(table(), GetParam());
  Plan spilled = uniform(
      segments, {Activations::kOffload, Parameters::kSpilled, Update::kDevice});
  Program program = compile(table(), step, spilled);
  double fast =
      simulate(program, durations_at(table(), {.to_device_bytes_per_s = 1e12,
                                               .to_host_bytes_per_s = 1e12}))
          .time_s;
  double slow =
      simulate(program, durations_at(table(), {.to_device_bytes_per_s = 1e6,
                                               .to_host_bytes_per_s = 1e6}))
          .time_s;
  EXPECT_GT(slow, fast);
}

TEST_P(SimulateModels, AFileCostsTimeOnASlowDisk) {
  size_t segments = num_segments(table(), GetParam());
  Program program = compile(
      table(), small_step(table(), GetParam()),
      uniform(segments,
              {Activations::kKeep, Parameters::kFile, Update::kHostFile}));
  auto time_s = [&](double rate) {
    return simulate(program,
                    durations_at(table(), {.disk_read_bytes_per_s = rate,
                                           .disk_write_bytes_per_s = rate}))
        .time_s;
  };
  EXPECT_GT(time_s(1e7), time_s(1e12));
  // The disk reads and writes one after the other.
  int64_t moved = 0;
  for (const Unit& unit : program.units) {
    moved += unit.bytes_read + unit.bytes_written;
  }
  EXPECT_GE(time_s(1e6), static_cast<double>(moved) / 1e6);
  Prediction p = simulate(program, durations_at(table(), {}));
  EXPECT_EQ(p.disk_bytes, program.disk_bytes());
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  return model_name(info.param);
}
INSTANTIATE_TEST_SUITE_P(Models, SimulateModels,
                         testing::ValuesIn(small_models()), name_of);

}  // namespace
}  // namespace braid::plan
