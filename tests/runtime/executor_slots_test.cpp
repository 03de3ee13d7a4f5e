// Executors that share a state and an arena with others.
#include <gtest/gtest.h>

#include <cstring>

#include "braid/passes/rewrite/layout.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/executor.h"
#include "kernels.h"
#include "passes/text_graphs.h"
#include "thrown.h"

namespace braid::runtime {
namespace {

using passes::graph_of;

plan::Program program_of(const std::string& statements) {
  return plan::compile(
      table(), {passes::layout(table(), graph_of(statements)), 1, {}}, {});
}

// w += x, and what it was.
plan::Program adding() {
  return program_of(R"(
    slot "w" f32[2] parameter constant(0.0)
    input %0 "x" f32[2]
    %1: f32[2] = read "w"
    %2: f32[2] = add(%1, %0)
    assign "w" (%2)
    output "y" %2
  )");
}

// y = w * v * x over many more bytes.
plan::Program scaling() {
  return program_of(R"(
    slot "v" f32[2] buffer constant(0.0)
    slot "w" f32[2] parameter constant(0.0)
    input %0 "x" f32[2]
    %1: f32[2] = read "v"
    %2: f32[2] = read "w"
    %3: f32[2] = mul(%1, %2)
    %4: f32[2] = mul(%3, %0)
    %5: f32[1000, 2] = expand(%4) {shape=[1000, 2]}
    %6: f32[1000, 2] = neg(%5)
    %7: f32[2] = sum(%6) {dims=[0], keep_dims=false}
    output "y" %7
  )");
}

Slot slot(const std::string& name, Shape shape = {2},
          DType dtype = DType::kFloat32) {
  Slot made;
  made.name = name;
  made.shape = std::move(shape);
  made.dtype = dtype;
  return made;
}

std::vector<float> floats(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

void write(State& state, const std::string& name, std::vector<float> values) {
  state.write(state.find(name), std::as_bytes(std::span(values)));
}

std::vector<float> step(Executor& executor, std::vector<float> x) {
  executor.step([&](int64_t, ValueId) {
    return reinterpret_cast<const std::byte*>(x.data());
  });
  return floats(executor.output("y"));
}

class SharedState : public testing::Test {
 protected:
  // More slots than either program has, in another order.
  std::vector<Slot> slots_{slot("other", {5}), slot("w"), slot("more", {3}),
                           slot("v")};
  std::vector<plan::SlotStorage> places_ =
      std::vector<plan::SlotStorage>(slots_.size());
  CpuBackend backend_{kernels(), {}};
  plan::Program adding_ = adding(), scaling_ = scaling();
};

TEST_F(SharedState, ProgramsFindTheirSlotsByName) {
  State state(slots_, places_, backend_);
  Executor add(table(), adding_, state, backend_);
  Executor scale(table(), scaling_, state, backend_);
  write(state, "v", {2, 3});
  write(state, "other", {1, 1, 1, 1, 1});
  EXPECT_EQ(step(add, {1, 10}), (std::vector<float>{1, 10}));
  EXPECT_EQ(step(scale, {1, 1}), (std::vector<float>{-2000, -30000}));
  EXPECT_EQ(step(add, {1, 10}), (std::vector<float>{2, 20}));
  EXPECT_EQ(floats(state.read(state.find("w"))), (std::vector<float>{2, 20}));
  EXPECT_EQ(floats(state.read(state.find("other"))),
            std::vector<float>(5, 1.0f));
}

TEST_F(SharedState, TakingTurnsInOneArenaChangesNothing) {
  State state(slots_, places_, backend_);
  int64_t before = backend_.account().used_bytes();
  auto arena = std::make_shared<Arena>(
      backend_, std::max(adding_.arena_bytes, scaling_.arena_bytes), 0);
  Executor add(table(), adding_, state, backend_, {.arena = arena});
  Executor scale(table(), scaling_, state, backend_, {.arena = arena});
  EXPECT_EQ(backend_.account().used_bytes() - before, scaling_.arena_bytes);
  write(state, "v", {1, 1});
  for (float sum : {1.0f, 2.0f, 3.0f}) {
    EXPECT_EQ(step(add, {1, 2}), (std::vector<float>{sum, 2 * sum}));
    EXPECT_EQ(step(scale, {1, 1}),
              (std::vector<float>{-1000 * sum, -2000 * sum}));
  }
}

TEST_F(SharedState, AnArenaGoesWithItsLastExecutor) {
  State state(slots_, places_, backend_);
  int64_t before = backend_.account().used_bytes();
  {
    auto arena = std::make_shared<Arena>(backend_, 1 << 20, 0);
    Executor add(table(), adding_, state, backend_, {.arena = arena});
    arena.reset();
    EXPECT_EQ(backend_.account().used_bytes() - before, 1 << 20);
    EXPECT_EQ(step(add, {1, 2}), (std::vector<float>{1, 2}));
  }
  EXPECT_EQ(backend_.account().used_bytes(), before);
}

TEST_F(SharedState, ASmallArenaIsRefused) {
  State state(slots_, places_, backend_);
  auto arena =
      std::make_shared<Arena>(backend_, scaling_.arena_bytes - 1, 1 << 10);
  EXPECT_THROW(Executor(table(), scaling_, state, backend_, {.arena = arena}),
               std::invalid_argument);
}

std::string problem_of(const plan::Program& program, State& state,
                       Backend& backend) {
  return thrown_by([&] { Executor(table(), program, state, backend); });
}

TEST_F(SharedState, AStateWithoutASlotIsRefused) {
  slots_.pop_back();
  places_.pop_back();
  State state(slots_, places_, backend_);
  EXPECT_EQ(problem_of(scaling_, state, backend_),
            "[executor] the state has no slot 'v'");
  EXPECT_EQ(problem_of(adding_, state, backend_), "");
}

TEST_F(SharedState, ASlotOfAnotherTypeOrPlaceIsRefused) {
  const std::string refused = "[executor] the state's slot 'w' is another one";
  const Slot others[] = {slot("w", {3}), slot("w", {2}, DType::kFloat64)};
  for (const Slot& other : others) {
    slots_[1] = other;
    State state(slots_, places_, backend_);
    EXPECT_EQ(problem_of(adding_, state, backend_), refused);
  }
  slots_[1] = slot("w");
  places_[1] = {.device = false, .host = true};
  State state(slots_, places_, backend_);
  EXPECT_EQ(problem_of(adding_, state, backend_), refused);
}

}  // namespace
}  // namespace braid::runtime
