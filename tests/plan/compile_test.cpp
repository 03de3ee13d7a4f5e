#include "braid/plan/compile.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "braid/graph/verify.h"
#include "op_table.h"
#include "passes/model_steps.h"
#include "passes/text_graphs.h"
#include "plan/program_checker.h"
#include "plan/random_plans.h"

namespace braid::plan {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  return fmt::format("{}", fmt::join(lines, "\n"));
}

int rounds() { return std::getenv("BRAID_TEST_LONG") ? 400 : 40; }

class CompileModels : public testing::TestWithParam<std::string> {
 protected:
  // A step with or without members and accumulation, of any optimizer.
  static StepOptions random_options(Random& random) {
    return {.members = below(random, 2) * 2,
            .micro_batches = 1 + below(random, 2),
            .optimizer = random_optimizer(random)};
  }
  passes::StepGraph random_step(Random& random) const {
    return small_step(table(), GetParam(), random_options(random));
  }
  size_t segments() const { return num_segments(table(), GetParam()); }
};

TEST_P(CompileModels, ProgramsOfRandomPlansAreRightUnderEveryTiming) {
  Random random(11);
  for (int round = 0; round < rounds(); ++round) {
    StepOptions options = random_options(random);
    passes::StepGraph step = small_step(table(), GetParam(), options);
    Plan plan = random_plan(random, segments(), 5);
    SCOPED_TRACE(fmt::format(
        "round {}, {} micro-batches, {}, {}", round, step.micro_batches,
        optimizer_text(options.optimizer), plan_text(plan)));
    Program program = compile(table(), step, plan, made_up_workspace);
    verify(program.graph);
    ASSERT_EQ(joined(problems_of(table(), program)), "");
  }
}

TEST_P(CompileModels, ArenaHoldsWhatIsAliveAndNotMuchMore) {
  Random random(12);
  for (int round = 0; round < rounds() / 4; ++round) {
    Program program =
        compile(table(), random_step(random),
                random_plan(random, segments(), 5), made_up_workspace);
    int64_t most = 0;
    for (size_t i = 0; i < program.instructions.size(); ++i) {
      int64_t alive = 0;
      for (const Allocation& a : program.allocations) {
        auto at = static_cast<int32_t>(i);
        if (a.space == Space::kArena && a.begin <= at && at <= a.end) {
          alive += a.bytes;
        }
      }
      most = std::max(most, alive);
    }
    EXPECT_LE(most, program.arena_bytes);
    // Places are whole blocks of 64 bytes, and packing is not perfect.
    EXPECT_LE(static_cast<double>(program.arena_bytes),
              2.0 * static_cast<double>(most) + 64.0 * 64);
  }
}

TEST_P(CompileModels, IsDeterministic) {
  Random random(13);
  passes::StepGraph step = random_step(random);
  Plan plan = random_plan(random, segments(), 5);
  Program a = compile(table(), step, plan, made_up_workspace);
  Program b = compile(table(), step, plan, made_up_workspace);
  ASSERT_EQ(a.instructions.size(), b.instructions.size());
  ASSERT_EQ(a.allocations.size(), b.allocations.size());
  for (size_t i = 0; i < a.allocations.size(); ++i) {
    EXPECT_EQ(a.allocations[i].offset, b.allocations[i].offset);
  }
  EXPECT_EQ(a.peak_bytes(), b.peak_bytes());
}

TEST_P(CompileModels, KeepingEverythingCopiesNothing) {
  passes::StepGraph step = small_step(table(), GetParam());
  Program program = compile(table(), step, keep_all(segments()));
  for (const Instruction& i : program.instructions) {
    EXPECT_TRUE(is_run(i));
  }
  EXPECT_EQ(program.host_bytes(), 0);
  EXPECT_EQ(program.num_events, 0);
}

TEST_P(CompileModels, EachTechniqueSavesDeviceMemory) {
  passes::StepGraph step = small_step(table(), GetParam());
  auto peak = [&](Decision d) {
    return compile(table(), step, uniform(segments(), d, 0)).peak_bytes();
  };
  int64_t kept = peak({});
  EXPECT_LE(peak({Activations::kRecompute}), kept);
  EXPECT_LE(peak({Activations::kOffload}), kept);
  EXPECT_LT(peak({Activations::kKeep, Parameters::kSpilled}), kept);
  EXPECT_LT(peak({Activations::kKeep, Parameters::kResident, Update::kHost}),
            kept);
  EXPECT_LT(
      peak({Activations::kRecompute, Parameters::kSpilled, Update::kHost}),
      peak({Activations::kKeep, Parameters::kSpilled}));
}

// Bytes that were fetched for stages to come.
int64_t most_ahead(const Program& program) {
  std::map<int32_t, int64_t> fetched;  // by place, until it is used
  int64_t most = 0;
  for (const Unit& unit : program.units) {
    for (int32_t n = unit.begin; n < unit.end; ++n) {
      const Instruction& i = program.instructions[static_cast<size_t>(n)];
      if (is_fetch(i) && program.allocation(i.target).slot == kNone) {
        fetched[i.target] = program.allocation(i.target).bytes;
      }
      if (!is_run(i)) continue;
      const PlannedCall& call = program.calls[static_cast<size_t>(i.call)];
      for (int32_t id : call.inputs) fetched.erase(id);
    }
    int64_t ahead = 0;
    for (auto [unused, bytes] : fetched) ahead += bytes;
    most = std::max(most, ahead);
  }
  return most;
}

TEST_P(CompileModels, ABufferBoundsWhatIsFetchedAhead) {
  passes::StepGraph step = small_step(table(), GetParam());
  Plan plan =
      uniform(segments(), {Activations::kKeep, Parameters::kSpilled}, 4);
  int64_t free = most_ahead(compile(table(), step, plan));
  ASSERT_GT(free, 0);
  for (int64_t buffer : {free, free / 2, free / 8, int64_t{0}}) {
    plan.buffer_bytes = buffer;
    Program program = compile(table(), step, plan);
    EXPECT_EQ(joined(problems_of(table(), program)), "");
    EXPECT_LE(most_ahead(program), buffer);
  }
}

TEST_P(CompileModels, AFileSavesHostMemory) {
  passes::StepGraph step = small_step(table(), GetParam());
  auto host = [&](Parameters parameters, Update update) {
    Decision d{Activations::kKeep, parameters, update};
    return compile(table(), step, uniform(segments(), d, 0)).host_bytes();
  };
  EXPECT_LT(host(Parameters::kFile, Update::kDevice),
            host(Parameters::kSpilled, Update::kDevice));
  EXPECT_LT(host(Parameters::kSpilled, Update::kHostFile),
            host(Parameters::kSpilled, Update::kHost));
  EXPECT_LT(host(Parameters::kFile, Update::kHostFile),
            host(Parameters::kFile, Update::kHost));
  EXPECT_LT(host(Parameters::kResident, Update::kHostFile),
            host(Parameters::kResident, Update::kHost));
}

// A micro part is repeated, so what it fetches it must also use.
TEST_P(CompileModels, MicroPartsFetchNothingForTheUpdate) {
  Random random(14);
  for (int round = 0; round < rounds() / 4; ++round) {
    passes::StepGraph step =
        small_step(table(), GetParam(), {.micro_batches = 3});
    Plan plan = random_plan(random, segments(), 5);
    Program program = compile(table(), step, plan);
    std::vector<bool> used(program.allocations.size(), false);
    for (int32_t i = 0; i < program.update_begin; ++i) {
      const Instruction& in = program.instructions[static_cast<size_t>(i)];
      if (!is_run(in)) continue;
      for (int32_t id : program.calls[static_cast<size_t>(in.call)].inputs) {
        if (id != kNone) used[static_cast<size_t>(id)] = true;
      }
    }
    for (int32_t i = 0; i < program.update_begin; ++i) {
      const Instruction& in = program.instructions[static_cast<size_t>(i)];
      if (!is_fetch(in)) continue;
      EXPECT_TRUE(used[static_cast<size_t>(in.target)]) << plan_text(plan);
    }
  }
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  return model_name(info.param);
}
INSTANTIATE_TEST_SUITE_P(Models, CompileModels,
                         testing::ValuesIn(small_models()), name_of);

TEST(Compile, RefusesDepthsThatAreNone) {
  passes::StepGraph step = small_step(table(), small_models()[0]);
  EXPECT_THROW(compile(table(), step, {.depth = -1, .segments = {}}),
               std::invalid_argument);
  EXPECT_THROW(compile(table(), step, {.depth = 65, .segments = {}}),
               std::invalid_argument);
}

// However many layers there are, host memory holds what a few of them need.
TEST(Compile, HostMemoryOfAFileIsThatOfAFewLayers) {
  auto program = [&](int layers, int depth, int64_t micro_batches) {
    std::string model = fmt::format(
        "mlp(batch=2,features=16,hidden=16,layers={},classes=16)", layers);
    passes::StepGraph step =
        small_step(table(), model, {.micro_batches = micro_batches});
    Decision in_file{Activations::kRecompute, Parameters::kFile,
                     Update::kHostFile};
    size_t segments = num_segments(table(), model);
    return compile(table(), step, uniform(segments, in_file, depth));
  };
  for (int64_t micro_batches : {1, 2}) {
    for (int depth : {0, 1, 2}) {
      Program few = program(16, depth, micro_batches);
      Program many = program(32, depth, micro_batches);
      EXPECT_EQ(joined(problems_of(table(), many)), "");
      EXPECT_EQ(many.host_bytes(), few.host_bytes()) << depth;
      EXPECT_GT(many.disk_bytes(), 7 * few.disk_bytes() / 4);
      if (depth > 0) continue;
      EXPECT_LT(8 * many.host_bytes(), many.disk_bytes());
    }
  }
}

TEST(Compile, GradientsCanBeFoundBeforeTheirUpdate) {
  passes::StepGraph step = small_step(table(), small_models()[0]);
  Program program = compile(table(), step, keep_all(8));
  EXPECT_EQ(program.gradients.size(), step.gradients.size());
  for (const auto& gradient : program.gradients) {
    const PlannedCall& call = program.calls[static_cast<size_t>(gradient.call)];
    EXPECT_EQ(call.inputs[1], gradient.allocation);
    EXPECT_EQ(program.graph.node(call.node).op->name, "adamw_update");
  }
}

// The checker itself: each damage to a good program must be seen.
class CheckerTest : public testing::Test {
 protected:
  Program program_ = compile(
      table(), small_step(table(), small_models()[0]),
      uniform(num_segments(table(), small_models()[0]),
              {Activations::kOffload, Parameters::kSpilled, Update::kHost}, 1));
  std::string found() { return joined(problems_of(table(), program_)); }
  // What is found when an event is awaited only at the end.
  std::string found_with_late_wait(int32_t event) {
    Program damaged = program_;
    for (Instruction& i : damaged.instructions) {
      if (is_wait(i) && i.waits[0] == event) {
        i.waits = program_.instructions[find(is_wait)].waits;
      }
    }
    damaged.instructions.push_back({.opcode = Opcode::kWait, .waits = {event}});
    return joined(problems_of(table(), damaged));
  }
  size_t find(bool (*fits)(const Instruction&)) {
    for (size_t i = 0; i < program_.instructions.size(); ++i) {
      if (fits(program_.instructions[i])) return i;
    }
    return 0;
  }
};

TEST_F(CheckerTest, TakesAGoodProgram) { EXPECT_EQ(found(), ""); }

// Copies of a stage follow each other, so not every wait is needed.
TEST_F(CheckerTest, SeesAFetchThatIsAwaitedTooLate) {
  int seen = 0;
  for (const Instruction& i : std::vector(program_.instructions)) {
    if (!is_fetch(i)) continue;
    std::string problems = found_with_late_wait(i.event);
    seen += problems.find("before it is written") != std::string::npos;
  }
  EXPECT_GT(seen, 5);
}

TEST_F(CheckerTest, SeesAnEvictionThatIsAwaitedTooLate) {
  int seen = 0;
  for (const Instruction& i : std::vector(program_.instructions)) {
    if (!is_evict(i)) continue;
    std::string problems = found_with_late_wait(i.event);
    seen += problems.find("while it is in use") != std::string::npos;
  }
  EXPECT_GT(seen, 3);
}

TEST_F(CheckerTest, SeesAnEventThatNobodyAwaits) {
  program_.instructions[find(is_wait)] = {.opcode = Opcode::kWait,
                                          .waits = {0}};
  program_.instructions.resize(find(is_wait) + 1);
  EXPECT_NE(found().find("never awaited"), std::string::npos);
}

TEST_F(CheckerTest, SeesPlacesThatOverlap) {
  for (Allocation& a : program_.allocations) {
    if (a.space == Space::kArena) a.offset = 0;
  }
  EXPECT_NE(found().find("overlap"), std::string::npos);
}

TEST_F(CheckerTest, SeesALifetimeThatIsTooShort) {
  for (Allocation& a : program_.allocations) a.end = a.begin;
  EXPECT_NE(found().find("alive from"), std::string::npos);
}

TEST_F(CheckerTest, SeesAFetchFromTheWrongPlace) {
  int32_t host = kNone;
  for (size_t i = 0; i < program_.allocations.size(); ++i) {
    if (program_.allocations[i].space == Space::kHostSlot) {
      host = static_cast<int32_t>(i);
    }
  }
  ASSERT_NE(program_.instructions[find(is_fetch)].source, host);
  program_.instructions[find(is_fetch)].source = host;
  EXPECT_NE(found(), "");
}

class FileCheckerTest : public CheckerTest {
 protected:
  FileCheckerTest() {
    Decision in_file{Activations::kOffload, Parameters::kFile,
                     Update::kHostFile};
    program_ =
        compile(table(), small_step(table(), small_models()[0]),
                uniform(num_segments(table(), small_models()[0]), in_file, 1));
  }
};

TEST_F(FileCheckerTest, TakesAGoodProgram) { EXPECT_EQ(found(), ""); }

TEST_F(FileCheckerTest, SeesACopyThatDoesNotWaitForItsRead) {
  int seen = 0;
  Program good = program_;
  for (Instruction& i : program_.instructions) {
    if (!is_fetch(i)) continue;
    std::vector<int32_t> waits = std::exchange(i.waits, {});
    seen += found().find("before it is written") != std::string::npos;
    i.waits = std::move(waits);
  }
  EXPECT_GT(seen, 5);
}

TEST_F(FileCheckerTest, SeesAWriteThatDoesNotWaitForTheUpdate) {
  Instruction& write = program_.instructions[find(is_disk_write)];
  write.waits = {};
  EXPECT_NE(found().find("before it is written"), std::string::npos);
}

TEST_F(FileCheckerTest, SeesAReadFromTheWrongPlace) {
  Instruction& read = program_.instructions[find(is_disk_read)];
  read.source = program_.instructions[find(is_disk_write)].target;
  EXPECT_NE(found(), "");
}

TEST_F(FileCheckerTest, SeesAWriteThatIsLeftOut) {
  Instruction& write = program_.instructions[find(is_disk_write)];
  write.opcode = Opcode::kDiskRead;
  std::swap(write.source, write.target);
  EXPECT_NE(found().find("ends with another content"), std::string::npos);
}

TEST_F(CheckerTest, SeesACallThatIsLeftOut) {
  auto at = static_cast<std::ptrdiff_t>(find(is_host_run));
  Instruction& run = program_.instructions[static_cast<size_t>(at)];
  run = {.opcode = Opcode::kCopy,
         .stream = Stream::kHostToDevice,
         .source = program_.calls[static_cast<size_t>(run.call)].outputs[0],
         .target = program_.calls[static_cast<size_t>(run.call)].outputs[0],
         .event = run.event,
         .waits = run.waits};
  EXPECT_NE(found().find("ends with another content"), std::string::npos);
}

// The gradient of exp is made in the memory of its result, which has been
// offloaded: the host has another content of the same buffer by then.
TEST(Compile, AHostUpdateReadsTheGradientNotWhatItsMemoryHeldBefore) {
  Graph forward = passes::graph_of(R"(
    slot "a" f32[4] parameter constant(1.0)
    slot "b" f32[4] parameter constant(1.0)
    %0: f32[4] = read "a" @"layers.0"
    %1: f32[4] = exp(%0) @"layers.0"
    %2: f32[] = mean(%1) {dims=[0], keep_dims=false} @"layers.0"
    %3: f32[4] = read "b" @"layers.1"
    %4: f32[4] = exp(%3) @"layers.1"
    %5: f32[] = mean(%4) {dims=[0], keep_dims=false} @"layers.1"
    %6: f32[] = add(%2, %5) @"layers.1"
    output "loss" %6
  )");
  size_t segments = passes::mark_segments(forward).size();
  passes::StepGraph step = passes::layout(
      table(), passes::add_optimizer(
                   table(),
                   passes::accumulate(
                       table(), passes::differentiate(table(), forward), 1),
                   passes::make_optimizer("sgd")));
  Decision offload{Activations::kOffload, Parameters::kResident, Update::kHost};
  Program program = compile(table(), step, uniform(segments, offload, 0));
  EXPECT_EQ(joined(problems_of(table(), program)), "");
}

}  // namespace
}  // namespace braid::plan
