// Plans that are chosen for a limit: real steps of small models.
#include "braid/compile/planner.h"

#include <gtest/gtest.h>

#include "braid/plan/solve/replay.h"
#include "passes/model_steps.h"
#include "passes/text_graphs.h"
#include "thrown.h"

namespace braid::compile {
namespace {

using plan::Activations;
using plan::Decision;

// Layers whose activations are most of what a step takes.
constexpr const char* kDeep =
    "mlp(batch=512,features=16,hidden=32,layers=9,classes=4)";
constexpr const char* kTransformer =
    "transformer(batch=8,length=16,vocab=11,width=16,heads=2,layers=6)";

StepSpec spec_of(const std::string& model) {
  return {.forward = models::build_model(table(), model, DType::kFloat32),
          .optimizer = passes::make_optimizer("adamw")};
}

ProgramSet compiled(const std::string& model, int64_t limit,
                    const PlanRequest& request = {},
                    int64_t host_limit = kNoLimit) {
  Target target{.limit_bytes = limit, .host_limit_bytes = host_limit};
  return compile_programs(table(), {spec_of(model)}, target, request);
}

double slowdown(const ProgramSet& set) {
  return set.choice->trial.seconds / set.choice->unlimited_s;
}

TEST(Planner, KeepsEverythingWhereThatFits) {
  ProgramSet free = compiled(kDeep, kNoLimit);
  EXPECT_FALSE(free.choice);
  ProgramSet fitting = compiled(kDeep, free.peak_bytes);
  EXPECT_EQ(fitting.peak_bytes, free.peak_bytes);
  EXPECT_EQ(fitting.choice->num_trials, 1);
  EXPECT_EQ(fitting.plan.segments,
            plan::keep_all(free.segments.size()).segments);
}

TEST(Planner, ALittleLessCostsLittle) {
  for (const char* model : {kDeep, kTransformer}) {
    int64_t need = compiled(model, kNoLimit).peak_bytes;
    ProgramSet set = compiled(model, need * 99 / 100);
    EXPECT_LE(set.peak_bytes, need * 99 / 100) << model;
    EXPECT_LE(slowdown(set), 1.06) << model;
    auto saving = std::ranges::count_if(
        set.plan.segments, [](const Decision& d) { return d != Decision{}; });
    EXPECT_LE(saving, 2) << model;
  }
}

TEST(Planner, EveryLimitIsKeptAndLessMemoryTakesMoreTime) {
  for (const char* model : {kDeep, kTransformer}) {
    int64_t need = compiled(model, kNoLimit).peak_bytes;
    double before = 1;
    for (int percent : {100, 90, 70, 50, 30}) {
      int64_t limit = need * percent / 100;
      try {
        ProgramSet set = compiled(model, limit);
        EXPECT_LE(set.peak_bytes, limit);
        EXPECT_GE(slowdown(set), before * 0.98) << model << " " << percent;
        before = std::max(before, slowdown(set));
      } catch (const std::runtime_error& error) {
        EXPECT_LE(percent, 40) << model << error.what();
        EXPECT_NE(std::string(error.what()).find("bytes short"),
                  std::string::npos);
      }
    }
  }
}

TEST(Planner, DecisionsThatAreGivenStay) {
  int64_t need = compiled(kTransformer, kNoLimit).peak_bytes;
  PlanRequest request{.named = plan::NamedPlan{}};
  request.named->segments = {
      {"blocks.1", plan::parse_decision("offload,spilled")},
      {"blocks.2", plan::parse_decision("keep")}};
  ProgramSet set = compiled(kTransformer, need * 6 / 10, request);
  EXPECT_LE(set.peak_bytes, need * 6 / 10);
  for (size_t i = 0; i < set.segments.size(); ++i) {
    if (set.segments[i] == "blocks.1") {
      EXPECT_EQ(decision_text(set.plan.segments[i]), "offload,spilled,device");
    }
    if (set.segments[i] == "blocks.2") {
      EXPECT_EQ(set.plan.segments[i], Decision{});
    }
  }
  request.named->solver = "off";
  EXPECT_NE(thrown_by<std::runtime_error>(
                [&] { compiled(kTransformer, need * 6 / 10, request); }),
            "");
}

TEST(Planner, HostMemoryHasALimitToo) {
  int64_t need = compiled(kTransformer, kNoLimit).peak_bytes;
  int64_t limit = need * 55 / 100;
  ProgramSet set = compiled(kTransformer, limit, {}, 0);
  EXPECT_EQ(set.host_bytes, 0);
  EXPECT_LE(set.peak_bytes, limit);
  PlanRequest spilled{.plan = plan::uniform(set.segments.size(),
                                            plan::parse_decision("spilled"))};
  std::string text = thrown_by<std::runtime_error>(
      [&] { compiled(kTransformer, kNoLimit, spilled, 1000); });
  EXPECT_NE(text.find("over host_limit (1000 B)"), std::string::npos) << text;
  text = thrown_by<std::runtime_error>(
      [&] { compiled(kTransformer, need / 8, {}, 1000); });
  EXPECT_NE(text.find("or host_limit"), std::string::npos) << text;
}

TEST(Planner, CutsAndJoinsSegments) {
  PlanRequest request{.named = plan::NamedPlan{}};
  request.named->segments = {
      {"blocks.*.fc*", plan::parse_decision("recompute")}};
  request.named->joined = {{"blocks.0", "blocks.1"}};
  ProgramSet set = compiled(kTransformer, kNoLimit, request);
  auto has = [&](const std::string& name) {
    return std::ranges::count(set.segments, name) == 1;
  };
  EXPECT_TRUE(has("blocks.0"));
  EXPECT_FALSE(has("blocks.1"));
  EXPECT_TRUE(has("blocks.5"));
  EXPECT_GT(set.segments.size(), 8u);
}

TEST(Planner, TheSameQuestionHasTheSameAnswer) {
  int64_t need = compiled(kTransformer, kNoLimit).peak_bytes;
  EXPECT_EQ(compiled(kTransformer, need / 2).plan.segments,
            compiled(kTransformer, need / 2).plan.segments);
}

// Rows are read off uniform programs, so the model of these is their program's
// to a few percent, and never asks for less.
TEST(Planner, RowsKnowWhatUniformProgramsTake) {
  Target target;
  Planner planner(table(), {spec_of(kTransformer)}, target, {});
  plan::ProgramRows rows = planner.rows(plan::Order::kMicroBatches);
  for (size_t m = 0; m < rows.decisions[0].size(); ++m) {
    Decision decision = rows.decisions[0][m];
    plan::Plan uniform = plan::uniform(planner.segments().size(), decision, 0);
    ProgramSet set = planner.programs(uniform);
    std::vector<int32_t> modes(planner.segments().size(),
                               static_cast<int32_t>(m));
    plan::Timeline replay = plan::replay(rows.instance, 0, modes);
    const plan::Program& program = set.programs[0];
    auto live = std::ranges::max(plan::live_bytes(program)) +
                program.device_slot_bytes();
    EXPECT_GE(replay.peak_bytes, live) << decision_text(decision);
    EXPECT_LE(replay.peak_bytes, live * 1.15) << decision_text(decision);
    EXPECT_EQ(replay.host_bytes > 0, set.host_bytes > 0);
  }
}

// Tied weights, layers that share what they keep, updates that wait: whatever
// the model, what is read off its programs is an instance that solvers take.
TEST(Planner, RowsOfAnyModelAreAnInstance) {
  for (const char* model :
       {kDeep, "lstm_lm(batch=16,length=32,vocab=1000,width=256)",
        "lstm_lm(batch=3,length=5,vocab=11,width=8,hidden=8,tied=1)",
        "resnet18(batch=3,side=40,width=4,classes=5)",
        "gpt2(batch=2,length=7,positions=9,vocab=1300,width=8,heads=2,"
        "layers=3)"}) {
    for (bool waits : {false, true}) {
      StepSpec spec = spec_of(model);
      if (waits) passes::set_option(spec.optimizer, "clip_norm", 1);
      if (waits) spec.micro_batches = 2;
      Target target{.has_file = true};
      Planner planner(table(), {spec}, target, {});
      for (auto order : {plan::Order::kMicroBatches, plan::Order::kLayers}) {
        plan::ProgramRows rows = planner.rows(order);
        rows.instance.depths = {0, 1};
        EXPECT_NO_THROW(plan::check_instance(rows.instance, model));
      }
    }
  }
}

// A head so wide that its gradient is more than all that its slot keeps.
TEST(Planner, PlansAWideHeadForEveryLimit) {
  const char* model = "lstm_lm(batch=16,length=32,vocab=1000,width=256)";
  int64_t need = compiled(model, kNoLimit).peak_bytes;
  for (int percent : {90, 70}) {
    int64_t limit = need * percent / 100;
    EXPECT_LE(compiled(model, limit).peak_bytes, limit) << percent;
  }
}

// Hardly more memory, and never more than the limit.
TEST(Planner, UpdatesStandTogetherWhereTheDeviceTakesThemTogether) {
  StepSpec spec = spec_of(kTransformer);
  Target target;
  target.device.groups_updates = true;
  ProgramSet apart = compile_programs(table(), {spec}, {}, {});
  ProgramSet joint = compile_programs(table(), {spec}, target, {});
  auto neighbours = [](const plan::Program& program) {
    int64_t count = 0;
    for (size_t i = 1; i < program.calls.size(); ++i) {
      auto updates = [&](size_t call) {
        return program.graph.node(program.calls[call].node).op->updates;
      };
      count += updates(i) && updates(i - 1);
    }
    return count;
  };
  EXPECT_GT(neighbours(joint.programs[0]), neighbours(apart.programs[0]));
  EXPECT_LE(joint.peak_bytes, apart.peak_bytes + apart.peak_bytes / 32);
  target.limit_bytes = apart.peak_bytes;
  ProgramSet limited = compile_programs(table(), {spec}, target, {});
  EXPECT_LE(limited.peak_bytes, target.limit_bytes);
}

}  // namespace
}  // namespace braid::compile
