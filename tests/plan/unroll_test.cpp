#include "braid/plan/unroll.h"

#include <gtest/gtest.h>

#include "braid/graph/verify.h"
#include "op_table.h"
#include "passes/model_steps.h"
#include "passes/text_graphs.h"
#include "plan/program_checker.h"
#include "plan/random_plans.h"

namespace braid::plan {
namespace {

constexpr const char* kDeep = "mlp(hidden=32,layers=6)";

Program program_of(Order order, int64_t micro_batches, Decision decision) {
  passes::StepGraph step =
      small_step(table(), kDeep, {.micro_batches = micro_batches});
  Plan plan = uniform(num_segments(table(), kDeep), decision, 1);
  plan.order = order;
  Program program = compile(table(), step, plan);
  verify(program.graph);
  EXPECT_TRUE(problems_of(table(), program).empty());
  return program;
}

int64_t fetches_of(const Program& program) {
  int64_t count = 0;
  for (size_t n = 0; n < program.instructions.size(); ++n) {
    bool repeats = static_cast<int32_t>(n) < program.update_begin;
    if (!is_fetch(program.instructions[n])) continue;
    count += repeats ? program.num_passes() : 1;
  }
  return count;
}

TEST(Unroll, LoadsAWeightOnceForAllMicroBatches) {
  Decision spilled{Activations::kKeep, Parameters::kSpilled};
  int64_t one = fetches_of(program_of(Order::kMicroBatches, 1, spilled));
  for (int64_t micro : {2, 5}) {
    EXPECT_EQ(fetches_of(program_of(Order::kLayers, micro, spilled)), one);
    EXPECT_GT(fetches_of(program_of(Order::kMicroBatches, micro, spilled)),
              (micro + 1) * one / 2);
  }
}

TEST(Unroll, AGradientNeedsNoSlot) {
  auto gradients = [](const Program& program) {
    return std::ranges::count(program.graph.slots(), Role::kGradient,
                              &Slot::role);
  };
  EXPECT_GT(gradients(program_of(Order::kMicroBatches, 3, {})), 0);
  Program layers = program_of(Order::kLayers, 3, {});
  EXPECT_EQ(gradients(layers), 0);
  EXPECT_TRUE(layers.is_one_part());
  EXPECT_EQ(layers.num_inputs() * 3, layers.inputs.size());
}

TEST(Unroll, OneMicroBatchStaysAsItIs) {
  Program program = program_of(Order::kLayers, 1, {});
  EXPECT_FALSE(program.is_unrolled);
}

// What slots hold after a step, as hashes of how it came about. A micro part
// that repeats is walked once for each micro-batch.
class Walk {
 public:
  explicit Walk(const passes::StepGraph& step)
      : graph_(step.graph), values_(graph_.values().size(), 0) {
    for (const Slot& slot : graph_.slots()) {
      slots_.push_back(stable_hash(slot.name));
    }
    int64_t passes = step.is_unrolled ? 1 : step.micro_batches;
    for (int64_t micro = 0; micro < passes; ++micro) {
      set_inputs(step, micro);
      for (const Node& node : graph_.nodes()) {
        bool is_update = node.phase == Phase::kUpdate;
        if (!is_update || micro + 1 == passes) visit(node, micro);
      }
    }
  }

  uint64_t slot(const std::string& name) const {
    return slots_[static_cast<size_t>(graph_.find_slot(name))];
  }

 private:
  uint64_t& at(ValueId id) { return values_[static_cast<size_t>(id)]; }

  // "x@0" is x of micro-batch 0; x alone is of the last one.
  void set_inputs(const passes::StepGraph& step, int64_t micro) {
    if (step.is_unrolled) micro = step.micro_batches - 1;
    for (ValueId id : graph_.inputs()) {
      const std::string& name = graph_.value(id).name;
      bool is_whole = name.find('@') != std::string::npos;
      at(id) = stable_hash(is_whole ? name : fmt::format("{}@{}", name, micro));
    }
  }

  void visit(const Node& node, int64_t micro) {
    uint64_t hash = stable_hash(node.op->name);
    for (ValueId id : node.inputs) hash = mix_bits(hash, id < 0 ? 0 : at(id));
    uint64_t* slot =
        node.slot == kNone ? nullptr : &slots_[static_cast<size_t>(node.slot)];
    if (node.op->name == "read") {
      at(node.outputs[0]) = *slot;
    } else if (node.op->name == "assign") {
      *slot = at(node.inputs[0]);
    } else if (node.op->name == "accumulate") {
      *slot = mix_bits(micro == 0 ? 0 : *slot, at(node.inputs[0]));
    } else if (node.op->name == "add_scaled") {
      uint64_t before = node.inputs.size() > 1 ? at(node.inputs[1]) : 0;
      at(node.outputs[0]) = mix_bits(before, at(node.inputs[0]));
    } else {
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        at(node.outputs[i]) = mix_bits(hash, i);
      }
    }
  }

  const Graph& graph_;
  std::vector<uint64_t> values_, slots_;
};

constexpr const char* kSlots = R"(slot "count" f32[4] buffer constant(0.0)
slot "sum" f32[4] buffer constant(0.0)
slot "gradient/w" f32[4] gradient constant(0.0)
slot "w" f32[4] parameter constant(0.0)
input %0 "x" f32[4]
input %1 "/micro" i64[]
)";

struct Case {
  std::string name, nodes;
  std::vector<std::pair<size_t, size_t>> groups;
};

// In all of them 3 segments and an update.
const Case kCases[] = {{"SlotsOfOneStage",
                        R"(%2: f32[4] = read "count"
%3: f32[4] = add(%2, %0)
assign "count" (%3)
%4: f32[4] = read "sum" segment=1
%5: f32[4] = mul(%4, %0) segment=1
assign "sum" (%5) segment=1
%6: f32[4] = relu(%0) segment=2
accumulate "gradient/w" (%6, %1) {scale=0.5} segment=2
%7: f32[4] = read "gradient/w" update segment=2
assign "w" (%7) update segment=2
)",
                        {}},
                       {"ASlotThatIsUsedTwice",
                        R"(%2: f32[4] = read "count"
%3: f32[4] = add(%2, %0)
assign "count" (%3)
%4: f32[4] = relu(%3) segment=1
%5: f32[4] = read "count" segment=2
%6: f32[4] = mul(%5, %4) segment=2
assign "count" (%6) segment=2
accumulate "gradient/w" (%6, %1) {scale=0.5} segment=2
%7: f32[4] = read "gradient/w" update segment=2
assign "w" (%7) update segment=2
)",
                        {{0, 3}}},
                       {"NewContentThatIsReadLater",
                        R"(%2: f32[4] = relu(%0)
%3: f32[4] = read "count" segment=1
%4: f32[4] = add(%3, %2) segment=1
assign "count" (%4) segment=1
%5: f32[4] = mul(%4, %2) segment=2
accumulate "gradient/w" (%5, %1) {scale=0.5} segment=2
%6: f32[4] = read "gradient/w" update segment=2
assign "w" (%6) update segment=2
)",
                        {{1, 3}}}};

// What a micro-batch leaves in a slot, the next one finds: stages in which a
// slot is read and written, and those between, are gone through together.
TEST(Unroll, MicroBatchesFindTheSlotsThatTheyWouldFind) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    passes::StepGraph step{passes::graph_of(kSlots + c.nodes), 3, {}};
    StageGroups found = stage_groups(table(), step);
    ASSERT_EQ(found.groups.size(), c.groups.size());
    for (size_t i = 0; i < c.groups.size(); ++i) {
      EXPECT_EQ(found.groups[i].begin, c.groups[i].first);
      EXPECT_EQ(found.groups[i].end, c.groups[i].second);
    }
    passes::StepGraph unrolled = unroll(table(), step, found);
    verify(unrolled.graph);
    Walk before(step), after(unrolled);
    for (const char* slot : {"count", "sum", "w"}) {
      EXPECT_EQ(after.slot(slot), before.slot(slot)) << slot;
    }
  }
}

class UnrollModels : public testing::TestWithParam<std::string> {};

TEST_P(UnrollModels, EverySlotEndsAsWithoutIt) {
  for (int64_t members : {0, 2}) {
    passes::StepGraph step = small_step(
        table(), GetParam(), {.members = members, .micro_batches = 3});
    passes::StepGraph unrolled =
        unroll(table(), step, stage_groups(table(), step));
    verify(unrolled.graph);
    Walk before(step), after(unrolled);
    for (const Slot& slot : unrolled.graph.slots()) {
      EXPECT_EQ(after.slot(slot.name), before.slot(slot.name)) << slot.name;
    }
  }
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  return model_name(info.param);
}
INSTANTIATE_TEST_SUITE_P(Models, UnrollModels,
                         testing::ValuesIn(small_models()), name_of);

}  // namespace
}  // namespace braid::plan
