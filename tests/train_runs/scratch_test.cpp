// Calls that take more scratch for the numbers of a run than for those of the
// trial that measured them.
#include "braid/ops/build/functions.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/trial_call.h"
#include "small_job.h"

namespace braid::train {
namespace {

// A convolution in doubles, whose columns libtorch keeps in scratch.
class Greedy {
 public:
  Greedy() : graph_(machine().ops()) {
    Var x{&graph_, graph_.add_input("x", {DType::kFloat64, {1, 4, 24, 24}})};
    Var w{&graph_, graph_.add_input("w", {DType::kFloat64, {4, 4, 3, 3}})};
    conv2d(x, w, {});
  }

  runtime::Thunk prepare(const runtime::KernelTable& kernels,
                         runtime::Workspace& workspace) {
    auto memory = std::make_shared<std::vector<std::vector<std::byte>>>();
    auto call = std::make_shared<runtime::Call>(runtime::trial_call(
        graph_, graph_.nodes().back(), workspace, [&](int64_t bytes) {
          memory->emplace_back(static_cast<size_t>(bytes));
          return memory->back().data();
        }));
    return [call, memory, run = kernels.prepare(*call)] { run(); };
  }

 private:
  Graph graph_;
};

bool is_zero(const runtime::Tensor& tensor) {
  return std::all_of(tensor.data, tensor.data + tensor.bytes(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

// All kernels; `op` takes much scratch for numbers that are not all 0.
runtime::KernelTable greedy_kernels(Greedy& greedy, const std::string& op) {
  runtime::KernelTable plain = runtime::cpu_kernels(), table = plain;
  table.add(op, [&greedy, plain, op](const runtime::Call& call) {
    return [run = plain.at(op)(call), x = call.in(0),
            more = greedy.prepare(plain, *call.workspace)] {
      if (!is_zero(x)) more();
      run();
    };
  });
  return table;
}

class Scratch : public SmallJobs {
 protected:
  JobConfig deep(const std::string& more) const {
    return config(
        "model: mlp(hidden=64,layers=6)\nsteps: 4\noptimizer: adamw\n" + more);
  }

  struct Result {
    Bits bits;
    int64_t peak_bytes, host_peak_bytes, predicted_bytes;
    std::vector<std::string> messages;
  };

  Result result_of(const runtime::KernelTable& kernels, int64_t limit,
                   int64_t host_limit = kNoLimit,
                   const std::string& more = "") const {
    Job job(machine(), deep(more));
    runtime::CpuBackend backend(kernels, {.limit_bytes = limit});
    backend.host_account().set_limit(host_limit);
    ReportLog log;
    train::Run run(job, {.listener = &log, .device = &backend});
    EXPECT_EQ(run.run(), Ending::kDone);
    return {bits_of(run), backend.account().peak_bytes(),
            backend.host_account().peak_bytes(), run.programs().peak_bytes(),
            log.messages};
  }

  static int64_t count(const Result& result, std::string_view text) {
    return std::ranges::count_if(result.messages, [&](const auto& message) {
      return message.find(text) != message.npos;
    });
  }

  Greedy greedy_;
  runtime::KernelTable plain_ = runtime::cpu_kernels();
  runtime::KernelTable kernels_ = greedy_kernels(greedy_, "linear");
};

TEST_F(Scratch, IsMeasuredAgainWhereItWasTooLittle) {
  Result free = result_of(plain_, kNoLimit),
         more = result_of(kernels_, kNoLimit);
  EXPECT_EQ(count(free, "of scratch, not"), 0);
  EXPECT_EQ(count(more, "linear at"), 1);
  EXPECT_EQ(count(more, "planned anew"), 1);
  EXPECT_GT(more.predicted_bytes, free.predicted_bytes + 100'000);
  EXPECT_TRUE(more.bits == free.bits);
}

// It fitted before: now something must be saved.
TEST_F(Scratch, KeepsTheLimitByAnotherPlan) {
  Result free = result_of(plain_, kNoLimit),
         more = result_of(kernels_, kNoLimit);
  int64_t limit = more.predicted_bytes - 4'000;
  ASSERT_GT(limit, free.predicted_bytes);
  Result limited = result_of(kernels_, limit);
  EXPECT_EQ(count(limited, "planned anew"), 1);
  EXPECT_LE(limited.predicted_bytes, limit);
  EXPECT_LE(limited.peak_bytes, limit);
  EXPECT_TRUE(limited.bits == free.bits);
}

TEST_F(Scratch, LiesOnTheHostWhereNoPlanFits) {
  Result free = result_of(plain_, kNoLimit);
  Result limited = result_of(kernels_, free.predicted_bytes, kNoLimit,
                             "plan: {solver: off}\n");
  EXPECT_EQ(count(limited, "no plan fits with that"), 1);
  EXPECT_EQ(limited.peak_bytes, free.predicted_bytes);
  EXPECT_GT(limited.host_peak_bytes, 100'000);
  EXPECT_TRUE(limited.bits == free.bits);
}

// Averages are 0 before the first step.
TEST_F(Scratch, OfUpdatesOnTheHostIsTheHosts) {
  auto host_run = [&](const runtime::KernelTable& kernels) {
    return result_of(kernels, kNoLimit, kNoLimit,
                     "ema: 0.9\n"
                     "plan: {segments: {default: 'keep,resident,host'}}\n");
  };
  Result free = host_run(plain_);
  Result more = host_run(greedy_kernels(greedy_, "ema_update"));
  EXPECT_EQ(count(free, "of scratch, not"), 0);
  EXPECT_EQ(count(more, "planned anew"), 1);
  EXPECT_EQ(more.peak_bytes, free.peak_bytes);
  EXPECT_GT(more.host_peak_bytes, free.host_peak_bytes + 50'000);
  EXPECT_TRUE(more.bits == free.bits);
}

TEST_F(Scratch, WithoutAnyRoomIsAnError) {
  Result free = result_of(plain_, kNoLimit);
  try {
    result_of(kernels_, free.predicted_bytes, 4096);
    ADD_FAILURE();
  } catch (const WorldError& error) {
    std::string text = error.what();
    EXPECT_NE(text.find("more than were planned for it"), text.npos) << text;
    EXPECT_NE(text.find("HINT"), text.npos) << text;
  }
}

}  // namespace
}  // namespace braid::train
