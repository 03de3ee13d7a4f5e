// Training on a CUDA device: the same numbers as on the CPU, the same bits
// when a step is recorded and replayed, the same whatever the plan.
#include <chrono>
#include <cstring>

#include "gpu_runs.h"
#include "plan/random_plans.h"

namespace braid::gpu_runs {
namespace {

using plan::Activations;
using plan::Decision;
using plan::Parameters;
using plan::Update;

constexpr const char* kModels[] = {"mlp", "lenet", "resblock", "transformer"};

// A ReLU whose input is zero but for rounding may open on one device alone:
// with few of them in f32 that does not happen.
models::Sizes small_sizes(const std::string& model) {
  if (model == "lenet") return {{"dropout", 0.1}, {"batch", 4}};
  if (model != "resblock") return {{"dropout", 0.1}};
  return {{"dropout", 0.1}, {"batch", 4}, {"channels", 8}, {"side", 8}};
}

void compare_with_cpu(const Setting& setting, Backend& gpu) {
  SCOPED_TRACE(text(setting));
  runtime::CpuBackend cpu(kernels(), {});
  Training here(setting, gpu), there(setting, cpu);
  here.run(5);
  there.run(5);
  Gap found = gap(here, there);
  record(fmt::format("cpu     {}  max error {:.1e} ({})", text(setting),
                     found.size, found.slot));
  EXPECT_LE(found.size, setting.dtype == DType::kFloat64 ? 1e-9 : 1e-4);
}

TEST_F(Gpu, FiveStepsEqualTheCpu) {
  for (const char* model : kModels) {
    for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
      for (int64_t members : {0, 3}) {
        for (const char* kind : {"sgd", "adamw"}) {
          Setting setting{model, dtype, members, kind, small_sizes(model)};
          EXPECT_NO_THROW(compare_with_cpu(setting, gpu()));
        }
      }
    }
  }
}

TEST_F(Gpu, GradientsOfMicroBatchesAddUpAsOnTheCpu) {
  Setting setting{"transformer", DType::kFloat64, 3};
  TrainerOptions how = options(setting);
  how.micro_batches = 2;
  runtime::CpuBackend cpu(kernels(), {});
  Training here(setting, gpu(), how), there(setting, cpu, how);
  here.run(6);  // some of them replayed
  there.run(6);
  EXPECT_LE(gap(here, there).size, 1e-9);
}

// Rates change between replays of one recorded step.
TEST_F(Gpu, ScheduledRatesReachReplayedSteps) {
  Setting setting{"mlp", DType::kFloat64, 3};
  TrainerOptions how = options(setting);
  for (const char* text :
       {"exponential(gamma=0.8)", "plateau(patience=0,threshold=0.5)",
        "cosine(steps=9,warmup=3)"}) {
    how.schedules.push_back(passes::parse_schedule(text));
  }
  runtime::CpuBackend cpu(kernels(), {});
  Training here(setting, gpu(), how), there(setting, cpu, how);
  here.run(12);
  there.run(12);
  EXPECT_LE(gap(here, there).size, 1e-9);
}

double seconds_of(Training& training, int64_t steps) {
  auto start = std::chrono::steady_clock::now();
  training.run(steps);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return took.count() / static_cast<double>(steps);
}

void compare_replayed(const Setting& setting, Backend& gpu) {
  constexpr int64_t kWarmUp = Training::kCycle, kSteps = 200;
  SCOPED_TRACE(text(setting));
  TrainerOptions plain_options = options(setting);
  plain_options.capture = false;
  Training replayed(setting, gpu), plain(setting, gpu, plain_options);
  replayed.run(kWarmUp);
  plain.run(kWarmUp);
  double replayed_s = seconds_of(replayed, kSteps);
  double plain_s = seconds_of(plain, kSteps);
  std::vector<std::string> names = differing(replayed, plain);
  record(fmt::format(
      "replay  {}  {} steps, {} of {} slots differ, {:.0f} us a step, "
      "{:.0f} us not replayed",
      text(setting), kSteps, names.size(), plain.state().slots().size(),
      replayed_s * 1e6, plain_s * 1e6));
  EXPECT_EQ(names, std::vector<std::string>{});
}

TEST_F(Gpu, ReplayedStepsHaveTheBitsOfPlainOnes) {
  for (const char* model : kModels) {
    for (int64_t members : {0, 3}) {
      Setting setting{model, DType::kFloat32, members};
      EXPECT_NO_THROW(compare_replayed(setting, gpu()));
    }
  }
}

// Copies move bits, and the rules of updates round alike everywhere.
void compare_plan(const Setting& setting, const Decision& decision, int depth,
                  Training& unplanned, Backend& gpu) {
  TrainerOptions how = options(setting);
  how.spill_dir = plan::spill_dir();
  how.plan = plan::uniform(compile::segment_names(forward(setting)).size(),
                           decision, depth);
  std::string name = fmt::format("{} {:<25} depth {}", text(setting),
                                 decision_text(decision), depth);
  SCOPED_TRACE(name);
  Training planned(setting, gpu, how);
  planned.run(8);  // the last ones replayed
  Gap found = gap(planned, unplanned);
  record(fmt::format("plan    {}  max error {:.1e} ({})", name, found.size,
                     found.slot));
  EXPECT_EQ(found.size, 0);
}

void compare_plans(const Setting& setting,
                   const std::vector<Decision>& decisions, Backend& gpu) {
  Training unplanned(setting, gpu);
  unplanned.run(8);
  for (const Decision& decision : decisions) {
    for (int depth : {0, 2}) {
      EXPECT_NO_THROW(compare_plan(setting, decision, depth, unplanned, gpu));
    }
  }
}

TEST_F(Gpu, EveryPlanGivesTheUnplannedRun) {
  for (const char* model : {"resblock", "transformer"}) {
    compare_plans(
        {model, DType::kFloat32, 3},
        {{Activations::kRecompute, Parameters::kResident, Update::kDevice},
         {Activations::kOffload, Parameters::kResident, Update::kDevice},
         {Activations::kKeep, Parameters::kSpilled, Update::kDevice},
         {Activations::kKeep, Parameters::kFile, Update::kDevice},
         {Activations::kOffload, Parameters::kSpilled, Update::kDevice}},
        gpu());
    for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
      compare_plans(
          {model, dtype, 3},
          {{Activations::kKeep, Parameters::kResident, Update::kHost},
           {Activations::kOffload, Parameters::kSpilled, Update::kHost},
           {Activations::kOffload, Parameters::kFile, Update::kHostFile},
           {Activations::kKeep, Parameters::kResident, Update::kHostFile}},
          gpu());
    }
  }
}

TEST_F(Gpu, TakesTheBytesThatWerePlanned) {
  Setting setting{"transformer", DType::kFloat32, 3};
  Training training(setting, gpu());
  training.run(5);
  const plan::Program& program = training.trainer().program();
  EXPECT_EQ(gpu().account().peak_bytes(), program.peak_bytes());
  EXPECT_EQ(gpu().host_account().peak_bytes(), program.host_bytes());
}

TEST_F(Gpu, MemberWithNanStaysAndTouchesNobody) {
  Setting setting{"mlp", DType::kFloat32, 3, "sgd"};
  Training broken(setting, gpu()), whole(setting, gpu()), fresh(setting, gpu());
  broken.run(5, [](const Value& value, std::vector<std::byte>& bytes) {
    if (value.name != "x") return;
    float nan = NAN;
    std::memcpy(bytes.data() + bytes.size() / 2, &nan, sizeof nan);
  });
  whole.run(5);
  for (size_t i = 0; i < fresh.state().slots().size(); ++i) {
    const Slot& slot = fresh.state().slots()[i];
    if (slot.role != Role::kParameter) continue;
    SCOPED_TRACE(slot.name);
    auto id = static_cast<SlotId>(i);
    for (int64_t member : {0, 2}) {
      EXPECT_EQ(broken.state().read_member(id, member),
                whole.state().read_member(id, member));
    }
    EXPECT_EQ(broken.state().read_member(id, 1),
              fresh.state().read_member(id, 1));
  }
}

// A chain over all streams: host, device, host, host function, device.
class Chain {
 public:
  static constexpr int64_t kBytes = 1 << 20;

  explicit Chain(Backend& backend)
      : backend_(backend),
        source_(backend, runtime::Memory::Where::kHost, kBytes, "source"),
        middle_(backend, runtime::Memory::Where::kHost, kBytes, "middle"),
        first_(backend, runtime::Memory::Where::kDevice, kBytes, "first"),
        last_(backend, runtime::Memory::Where::kDevice, kBytes, "last") {}

  void issue() {
    using plan::Stream;
    static constexpr int32_t kEvents[] = {0, 1, 2};
    auto after = [](size_t event) {
      return std::span<const int32_t>(kEvents).subspan(event, 1);
    };
    backend_.begin_pass(*events_);
    backend_.copy(Stream::kHostToDevice, first_.data(), source_.data(), kBytes,
                  {*events_, 0});
    backend_.copy(Stream::kDeviceToHost, middle_.data(), first_.data(), kBytes,
                  {*events_, 1, after(0)});
    backend_.host_run(
        [this] {
          for (int64_t i = 0; i < kBytes; ++i) {
            middle_.data()[i] = ~middle_.data()[i];
          }
        },
        {*events_, 2, after(1)});
    backend_.copy(Stream::kHostToDevice, last_.data(), middle_.data(), kBytes,
                  {*events_, 3, after(2)});
    backend_.wait(*events_, 3);
  }

  void set_source(int value) { std::memset(source_.data(), value, kBytes); }

  std::vector<std::byte> result() const {
    std::vector<std::byte> bytes(kBytes);
    backend_.read(bytes.data(), last_.data(), kBytes);
    return bytes;
  }

 private:
  Backend& backend_;
  runtime::Memory source_, middle_, first_, last_;
  std::unique_ptr<runtime::EventSet> events_ = backend_.make_events(4);
};

std::vector<std::byte> inverted(int value) {
  return std::vector<std::byte>(Chain::kBytes, ~std::byte(value));
}

TEST_F(Gpu, CopiesAndHostRunsKeepTheirOrder) {
  Chain chain(gpu());
  for (int value = 1; value < 20; ++value) {
    chain.set_source(value);
    chain.issue();
    ASSERT_EQ(chain.result(), inverted(value));
  }
}

TEST_F(Gpu, RecordedCopiesAndHostRunsKeepTheirOrder) {
  Chain chain(gpu());
  runtime::Thunk replay = gpu().capture([&] { chain.issue(); });
  ASSERT_TRUE(replay);
  for (int value = 1; value < 20; ++value) {
    chain.set_source(value);
    replay();
    ASSERT_EQ(chain.result(), inverted(value));
  }
}

TEST_F(Gpu, ErrorOfAHostRunReachesTheNextRead) {
  runtime::Memory memory(gpu(), runtime::Memory::Where::kDevice, 8, "test");
  auto events = gpu().make_events(1);
  gpu().begin_pass(*events);
  gpu().host_run([] { throw std::runtime_error("[host] broken"); },
                 {*events, 0});
  gpu().synchronize();
  std::byte bytes[8];
  EXPECT_THROW(gpu().read(bytes, memory.data(), 8), std::runtime_error);
  EXPECT_NO_THROW(gpu().read(bytes, memory.data(), 8));
}

TEST_F(Gpu, WaitForWhatWasNotIssuedIsAnError) {
  auto events = gpu().make_events(1);
  gpu().begin_pass(*events);
  EXPECT_THROW(gpu().wait(*events, 0), std::runtime_error);
}

TEST_F(Gpu, FailedRecordingLeavesTheDeviceUsable) {
  EXPECT_THROW(gpu().capture([] { throw std::runtime_error("[test] broken"); }),
               std::runtime_error);
  Chain chain(gpu());
  chain.set_source(3);
  chain.issue();
  EXPECT_EQ(chain.result(), inverted(3));
}

TEST(GpuDevice, UnknownIndexIsAClearError) {
  if (!runtime::has_cuda()) GTEST_SKIP() << "no CUDA device here";
  try {
    runtime::make_cuda_backend(kernels(), {.index = 99});
    FAIL() << "made";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("cuda:99"), std::string::npos);
  }
}

TEST(GpuDevice, LimitBelowTheLibrariesIsAClearError) {
  if (!runtime::has_cuda()) GTEST_SKIP() << "no CUDA device here";
  EXPECT_THROW(runtime::make_cuda_backend(kernels(), {.limit_bytes = 1000}),
               std::runtime_error);
}

TEST(GpuDevice, LimitIsKept) {
  if (!runtime::has_cuda()) GTEST_SKIP() << "no CUDA device here";
  constexpr int64_t kLimit = int64_t{1} << 40;
  auto gpu = runtime::make_cuda_backend(kernels(), {.limit_bytes = kLimit});
  EXPECT_LT(gpu->account().limit_bytes(), kLimit);
  EXPECT_GT(gpu->account().limit_bytes(), kLimit / 2);
}

}  // namespace
}  // namespace braid::gpu_runs
