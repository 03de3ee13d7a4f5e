// Training on a CUDA device: the same numbers as on the CPU, the same bits
// when a step is recorded and replayed, the same whatever the plan.
//
// Lines that begin with "record:" are collected by bench/gpu_step.sh.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include "braid/base/rng.h"
#include "braid/models/models.h"
#include "braid/passes/names.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/kernels/cuda_backend.h"
#include "braid/train/trainer.h"

namespace braid {
namespace {

using plan::Activations;
using plan::Decision;
using plan::Parameters;
using plan::Update;
using runtime::Backend;
using train::Trainer;
using train::TrainerOptions;

const OpTable& ops() {
  static const OpTable table = standard_ops();
  return table;
}

const runtime::KernelTable& kernels() {
  static const runtime::KernelTable table = runtime::cpu_kernels();
  return table;
}

constexpr const char* kModels[] = {"mlp", "lenet", "resblock", "transformer"};

struct Setting {
  std::string model;
  DType dtype = DType::kFloat32;
  int64_t members = 0;
  std::string optimizer = "adamw";
  models::Sizes sizes = {{"dropout", 0.1}};
};

std::string text(const Setting& s) {
  return fmt::format("{:<11} B={} {} {:<5}", s.model, s.members,
                     dtype_name(s.dtype), s.optimizer);
}

// Between them they use every input of the update kernels.
passes::Optimizer optimizer(const Setting& s) {
  passes::Optimizer o = passes::make_optimizer(s.optimizer);
  if (s.optimizer == "sgd") {
    set_option(o, "lr", 0.05);
    set_option(o, "momentum", 0.9);
    set_option(o, "nesterov", 1);
    set_option(o, "weight_decay", 0.01);
    set_option(o, "clip_norm", 1);
    set_option(o, "skip_nonfinite", 1);
  } else {
    // Where a gradient is zero but for rounding, a small eps would turn the
    // rounding into a whole step.
    set_option(o, "eps", 1e-4);
  }
  return o;
}

TrainerOptions options(const Setting& s) {
  return {.optimizer = optimizer(s), .members = s.members};
}

// Fixed random content; every 11th target is the one that does not count.
template <class T>
void fill(std::vector<std::byte>& bytes, const Value& value, int64_t seed) {
  ElementRandom random(static_cast<uint64_t>(seed), value.name);
  auto* data = reinterpret_cast<T*>(bytes.data());
  bool is_target = value.name == "y" || value.name == "targets";
  int64_t classes = value.name == "y" ? 4 : 64;
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    if constexpr (std::is_integral_v<T>) {
      data[i] = is_target && i % 11 == 10
                    ? -100
                    : static_cast<T>(random.uniform(i) *
                                     static_cast<double>(classes));
    } else {
      data[i] = static_cast<T>(random.normal(i));
    }
  }
}

std::vector<std::byte> input_content(const Value& value, int64_t seed) {
  std::vector<std::byte> bytes(static_cast<size_t>(
      num_elements(value.type.shape) * item_bytes(value.type.dtype)));
  switch (value.type.dtype) {
    case DType::kFloat32: fill<float>(bytes, value, seed); break;
    case DType::kFloat64: fill<double>(bytes, value, seed); break;
    default: fill<int64_t>(bytes, value, seed);
  }
  return bytes;
}

Graph forward(const Setting& s) {
  return models::build_model(ops(), s.model, s.dtype, s.sizes);
}

// A trainer with its data.
class Training {
 public:
  static constexpr int64_t kCycle = 4;  // steps with data of their own

  Training(const Setting& setting, Backend& backend)
      : Training(setting, backend, options(setting)) {}
  Training(const Setting& setting, Backend& backend, TrainerOptions how)
      : backend_(backend),
        trainer_(ops(), forward(setting), backend, std::move(how)) {
    std::vector<int64_t> seeds{7, 8, 9};
    seeds.resize(static_cast<size_t>(std::max<int64_t>(setting.members, 1)));
    trainer_.initialise(seeds);
  }

  // `change` may edit an input when it is made.
  using Change = std::function<void(const Value&, std::vector<std::byte>&)>;
  void run(int64_t steps, const Change& change = {}) {
    for (int64_t i = 0; i < steps; ++i, ++step_) {
      trainer_.step([&](int64_t micro, ValueId id) {
        int64_t seed = step_ % kCycle * 16 + micro;
        auto [at, fresh] = inputs_.try_emplace({seed, id});
        const Value& value = trainer_.graph().value(id);
        if (fresh) at->second = input_content(value, seed);
        if (fresh && change) change(value, at->second);
        return at->second.data();
      });
    }
    backend_.synchronize();
  }

  Trainer& trainer() { return trainer_; }
  runtime::State& state() { return trainer_.state(); }

 private:
  Backend& backend_;
  Trainer trainer_;
  std::map<std::pair<int64_t, ValueId>, std::vector<std::byte>> inputs_;
  int64_t step_ = 0;
};

std::vector<double> numbers(const std::vector<std::byte>& bytes, DType dtype) {
  std::vector<double> values;
  auto add = [&]<class T>(T) {
    auto* data = reinterpret_cast<const T*>(bytes.data());
    for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
      values.push_back(static_cast<double>(data[i]));
    }
  };
  switch (dtype) {
    case DType::kFloat32: add(float{}); break;
    case DType::kFloat64: add(double{}); break;
    default: add(int64_t{});
  }
  return values;
}

// The largest max|a - b| / max|b| of a slot, and whose it is.
struct Gap {
  double size = 0;
  std::string slot = "-";
};

Gap gap(Training& a, Training& b) {
  Gap worst;
  for (size_t i = 0; i < a.state().slots().size(); ++i) {
    const Slot& slot = a.state().slots()[i];
    SlotId id = static_cast<SlotId>(i), other = b.state().find(slot.name);
    auto x = numbers(a.state().read(id), slot.dtype);
    auto y = numbers(b.state().read(other), slot.dtype);
    double error = 0, scale = 1e-30;
    for (size_t k = 0; k < x.size(); ++k) {
      double d = std::abs(x[k] - y[k]);
      error = std::isnan(d) ? INFINITY : std::max(error, d);
      scale = std::max(scale, std::abs(y[k]));
    }
    if (error / scale > worst.size) worst = {error / scale, slot.name};
  }
  return worst;
}

// Names of the slots whose bytes differ.
std::vector<std::string> differing(Training& a, Training& b) {
  std::vector<std::string> names;
  for (size_t i = 0; i < a.state().slots().size(); ++i) {
    const std::string& name = a.state().slots()[i].name;
    if (a.state().read(static_cast<SlotId>(i)) !=
        b.state().read(b.state().find(name))) {
      names.push_back(name);
    }
  }
  return names;
}

void record(const std::string& line) {
  fmt::print("record: {}\n", line);
  std::fflush(stdout);
}

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!runtime::has_cuda()) GTEST_SKIP() << "no CUDA device here";
    gpu_ = runtime::make_cuda_backend(kernels(), {});
  }
  Backend& gpu() { return *gpu_; }

 private:
  std::unique_ptr<Backend> gpu_;
};

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

// Copies move bits, so only an update by the CPU's kernels may differ.
void compare_plan(const Setting& setting, const Decision& decision, int depth,
                  Training& unplanned, Backend& gpu) {
  TrainerOptions how = options(setting);
  how.plan = plan::uniform(train::segment_names(forward(setting)).size(),
                           decision, depth);
  std::string name = fmt::format("{} {:<25} depth {}", text(setting),
                                 decision_text(decision), depth);
  SCOPED_TRACE(name);
  Training planned(setting, gpu, how);
  planned.run(8);  // the last ones replayed
  Gap found = gap(planned, unplanned);
  record(fmt::format("plan    {}  max error {:.1e} ({})", name, found.size,
                     found.slot));
  EXPECT_LE(found.size, decision.update == Update::kHost ? 1e-9 : 0);
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
         {Activations::kOffload, Parameters::kSpilled, Update::kDevice}},
        gpu());
    compare_plans(
        {model, DType::kFloat64, 3},
        {{Activations::kKeep, Parameters::kResident, Update::kHost},
         {Activations::kOffload, Parameters::kSpilled, Update::kHost}},
        gpu());
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
    backend_.begin_pass(4);
    backend_.fetch(first_.data(), source_.data(), kBytes, 0, kNone);
    backend_.evict(middle_.data(), first_.data(), kBytes, 1, 0);
    backend_.host_run(
        [this] {
          for (int64_t i = 0; i < kBytes; ++i) {
            middle_.data()[i] = ~middle_.data()[i];
          }
        },
        2, 1);
    backend_.fetch(last_.data(), middle_.data(), kBytes, 3, 2);
    backend_.wait(3);
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
  runtime::Run replay = gpu().capture([&] { chain.issue(); });
  ASSERT_TRUE(replay);
  for (int value = 1; value < 20; ++value) {
    chain.set_source(value);
    replay();
    ASSERT_EQ(chain.result(), inverted(value));
  }
}

TEST_F(Gpu, ErrorOfAHostRunReachesTheNextRead) {
  runtime::Memory memory(gpu(), runtime::Memory::Where::kDevice, 8, "test");
  gpu().begin_pass(1);
  gpu().host_run([] { throw std::runtime_error("[host] broken"); }, 0, kNone);
  gpu().synchronize();
  std::byte bytes[8];
  EXPECT_THROW(gpu().read(bytes, memory.data(), 8), std::runtime_error);
  EXPECT_NO_THROW(gpu().read(bytes, memory.data(), 8));
}

TEST_F(Gpu, WaitForWhatWasNotIssuedIsAnError) {
  gpu().begin_pass(1);
  EXPECT_THROW(gpu().wait(0), std::runtime_error);
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
}  // namespace braid
