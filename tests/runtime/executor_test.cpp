// Tiny graphs on a CPU device, with real kernels.
#include "braid/runtime/executor.h"

#include <gtest/gtest.h>

#include <cstring>

#include "braid/passes/rewrite/layout.h"
#include "braid/plan/call_signature.h"
#include "braid/runtime/cpu_backend.h"
#include "kernels.h"
#include "passes/text_graphs.h"

namespace braid::runtime {
namespace {

using passes::graph_of;

std::vector<float> floats(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// A graph with the state and executor of its whole program.
class Machine {
 public:
  explicit Machine(const std::string& statements, int64_t micro_batches = 1,
                   CpuOptions options = {},
                   const KernelTable& table_ = kernels())
      : backend(table_, std::move(options)),
        program(plan::compile(
            table(),
            {passes::layout(table(), graph_of(statements)), micro_batches, {}},
            {})),
        state(program.graph.slots(), program.slots, backend),
        executor(table(), program, state, backend) {}

  // Feeds one vector per input, for every micro-batch alike.
  void step(std::vector<std::vector<float>> inputs) {
    executor.step([&](int64_t, ValueId id) {
      return reinterpret_cast<const std::byte*>(
          inputs.at(static_cast<size_t>(id)).data());
    });
  }
  std::vector<float> output(const std::string& name) {
    return floats(executor.output(name));
  }
  std::vector<float> slot(const std::string& name) {
    return floats(state.read(state.find(name)));
  }

  CpuBackend backend;
  plan::Program program;
  State state;
  Executor executor;
};

TEST(ExecutorTest, RunsAGraph) {
  Machine m(R"(
    input %0 "x" f32[3]
    %1: f32[3] = mul_scalar(%0) {value=2.0}
    %2: f32[3] = add_scalar(%1) {value=1.0}
    output "y" %2
  )");
  m.step({{1, 2, 3}});
  EXPECT_EQ(m.output("y"), (std::vector<float>{3, 5, 7}));
  m.step({{0, 0, 10}});
  EXPECT_EQ(m.output("y"), (std::vector<float>{1, 1, 21}));
  EXPECT_THROW(m.executor.output("z"), std::invalid_argument);
  EXPECT_TRUE(m.executor.losses().empty());
}

TEST(ExecutorTest, OutputsAreGivenRowMajor) {
  Machine m(R"(
    input %0 "x" f32[2, 3]
    %1: f32[2, 3] = neg(%0)
    %2: f32[3, 2] = permute(%1) {dims=[1, 0]}
    %3: f32[2, 2] = slice(%1) {dim=1, start=1, end=3, step=1}
    output "y" %2
    output "z" %3
  )");
  m.step({{1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(m.output("y"), (std::vector<float>{-1, -4, -2, -5, -3, -6}));
  EXPECT_EQ(m.output("z"), (std::vector<float>{-2, -3, -5, -6}));
}

TEST(ExecutorTest, SlotsKeepTheirContentBetweenSteps) {
  Machine m(R"(
    slot "sum" f32[2] buffer constant(0.0)
    input %0 "x" f32[2]
    %1: f32[2] = read "sum"
    %2: f32[2] = add(%1, %0)
    assign "sum" (%2)
    output "y" %2
  )");
  m.step({{1, 2}});
  m.step({{10, 20}});
  EXPECT_EQ(m.slot("sum"), (std::vector<float>{11, 22}));
}

TEST(ExecutorTest, MicroBatchesAreCountedAndAccumulated) {
  Machine m(R"(
    slot "g" f32[2] gradient constant(0.0)
    slot "w" f32[2] parameter constant(0.0)
    input %0 "x" f32[2]
    input %1 "/micro" i64[]
    %2: f32[] = sum(%0) {dims=[0], keep_dims=false}
    accumulate "g" (%0, %1) {scale=0.5} backward
    %3: f32[2] = read "g" update
    %4: f32[2] = mul_scalar(%3) {value=10.0} update
    assign "w" (%4) update
    output "loss" %2
  )",
            2);
  float micro = 0;
  for (int step = 0; step < 2; ++step) {  // the second forgets the first
    std::vector<std::vector<float>> inputs{{1, 2}, {3, 4}};
    m.executor.step([&](int64_t i, ValueId) {
      micro += static_cast<float>(i);
      return reinterpret_cast<const std::byte*>(
          inputs[static_cast<size_t>(i)].data());
    });
    EXPECT_EQ(m.slot("g"), (std::vector<float>{2, 3}));
    EXPECT_EQ(m.slot("w"), (std::vector<float>{20, 30}));
    EXPECT_EQ(m.executor.losses(), std::vector<double>{5});
  }
  EXPECT_EQ(micro, 2);
}

TEST(ExecutorTest, ChargesExactlyWhatWasPlanned) {
  Machine m(R"(
    slot "w" f32[100] parameter constant(0.0)
    input %0 "x" f32[100]
    %1: f32[100] = read "w"
    %2: f32[100] = mul(%0, %1)
    output "y" %2
  )");
  EXPECT_EQ(m.backend.account().used_bytes(), m.program.peak_bytes());
  EXPECT_EQ(m.program.peak_bytes(), 3 * 448);
}

// A limit that is one byte short: a report, and the state as it was.
TEST(ExecutorTest, AnArenaThatDoesNotFitIsReported) {
  plan::Program program = plan::compile(table(),
                                        {passes::layout(table(), graph_of(R"(
         slot "w" f32[100] parameter constant(0.0)
         input %0 "x" f32[100]
         %1: f32[100] = read "w" @"fc"
         %2: f32[100] = mul(%0, %1) @"fc"
         output "y" %2
       )")),
                                         1,
                                         {}},
                                        {});
  CpuBackend backend(kernels(), {.limit_bytes = program.peak_bytes() - 1});
  State state(program.graph.slots(), program.slots, backend);
  std::vector<std::byte> content(400, std::byte{7});
  state.write(0, content);
  try {
    Executor executor(table(), program, state, backend);
    FAIL() << "passed its limit";
  } catch (const std::runtime_error& error) {
    std::string report = error.what();
    EXPECT_NE(report.find(": 1 bytes short"), std::string::npos) << report;
    EXPECT_NE(report.find("fc"), std::string::npos) << report;
  }
  EXPECT_EQ(backend.account().used_bytes(), program.device_slot_bytes());
  EXPECT_EQ(backend.host_account().used_bytes(), 0);
  EXPECT_EQ(state.read(0), content);
}

TEST(ExecutorTest, AKernelThatFailsIsReportedAndTheNextStepRuns) {
  KernelTable broken = cpu_kernels();
  bool fails = true;
  broken.add("neg", [&](const Call& call) -> runtime::Thunk {
    runtime::Thunk run = kernels().prepare(call);
    return [&fails, run] {
      if (fails) throw std::runtime_error("no luck");
      run();
    };
  });
  Machine m(R"(
    input %0 "x" f32[2]
    %1: f32[2] = neg(%0)
    output "y" %1
  )",
            1, {}, broken);
  EXPECT_THROW(m.step({{1, 2}}), std::runtime_error);
  fails = false;
  m.step({{1, 2}});
  EXPECT_EQ(m.output("y"), (std::vector<float>{-1, -2}));
}

TEST(ExecutorTest, AnOpWithoutAKernelIsRefusedByName) {
  try {
    Machine m("input %0 \"x\" f32[2]\n%1: f32[2] = neg(%0)\noutput \"y\" %1", 1,
              {}, KernelTable());
    FAIL() << "found a kernel";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("'neg' has no kernel"),
              std::string::npos);
  }
}

// Threads are a function of a call's cost, whatever others set meanwhile.
TEST(ExecutorTest, EachCallRunsWithItsOwnThreads) {
  EXPECT_EQ(threads_for({.flops = 10, .bytes = 10}, 8), 1);
  // An update of 64 matrices of 32 x 32.
  EXPECT_EQ(threads_for({.flops = 10, .bytes = 64 * 32 * 32 * 28}, 8), 1);
  EXPECT_EQ(threads_for({.flops = 1e9, .bytes = 10}, 8), 8);
  EXPECT_EQ(threads_for({.flops = 10, .bytes = 1e9}, 8), 8);
  std::vector<int> seen;
  KernelTable watching = cpu_kernels();
  watching.add("neg", [&](const Call&) -> runtime::Thunk {
    return [&] { seen.push_back(call_threads()); };
  });
  Machine m("input %0 \"x\" f32[2]\n%1: f32[2] = neg(%0)\noutput \"y\" %1", 1,
            {}, watching);
  m.step({{1, 2}});
  set_call_threads(2);
  m.step({{1, 2}});
  EXPECT_EQ(seen, (std::vector<int>{1, 1}));
  set_call_threads(1);
}

TEST(ExecutorTest, WorkspaceIsMeasuredPerSignature) {
  CpuBackend backend(kernels(), {});
  Graph graph = graph_of(R"(
    input %0 "x" f32[64, 64]
    %1: f32[64, 64] = neg(%0)
    %2: f32[64, 64], %3: f32[64], %4: f32[64] = \
      batch_norm(%0) {training=true, momentum=0.1, eps=1e-05}
  )");
  auto rule = measured_workspace(table(), backend, 1);
  EXPECT_EQ(rule(graph, graph.node(0), false), 0);
  int64_t bytes = rule(graph, graph.node(1), false);
  EXPECT_EQ(rule(graph, graph.node(1), false), bytes);
  EXPECT_EQ(backend.account().peak_bytes(), 0);  // on memory of its own
}

TEST(SignatureTest, TellsCallsApart) {
  Graph graph = graph_of(R"(
    input %0 "x" f32[4, 4]
    input %1 "z" f64[4, 4]
    %2: f32[4, 4] = mul_scalar(%0) {value=2.0}
    %3: f32[4, 4] = mul_scalar(%0) {value=3.0}
    %4: f64[4, 4] = mul_scalar(%1) {value=2.0}
    %5: f32[4, 4] strides[1, 4] = permute(%0) {dims=[1, 0]}
    %6: f32[4, 4] = mul_scalar(%5) {value=2.0}
    %7: f32[4, 4] = mul_scalar(%2) {value=2.0}
  )");
  auto text = [&](NodeId id, int threads = 1) {
    return plan::call_signature(graph, graph.node(id), threads);
  };
  EXPECT_EQ(text(0), text(5));
  EXPECT_NE(text(0), text(1));
  EXPECT_NE(text(0), text(2));
  EXPECT_NE(text(0), text(4));
  EXPECT_NE(text(0), text(0, 2));
}

// Its elements share one place in memory, those of the slot do not.
TEST(Executor, AccumulatesAnExpandedValue) {
  Machine m(R"(
    slot "sum" f32[3] gradient constant(0.0)
    input %0 "x" f32[1]
    input %1 "/micro" i64[]
    %2: f32[1] = neg(%0)
    %3: f32[3] = expand(%2) {shape=[3]}
    accumulate "sum" (%3, %1) {scale=1.0}
    output "y" %2
  )");
  CpuBackend backend(kernels(), {});
  for (const Node& node : m.program.graph.nodes()) {
    if (node.op->name == "accumulate") {
      EXPECT_NO_THROW(
          backend.measure_workspace(m.program.graph, node, 1, false));
    }
  }
}

}  // namespace
}  // namespace braid::runtime
