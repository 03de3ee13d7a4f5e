// Recomputation and early updates change where nodes stand, never what is
// computed.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "braid/graph/text.h"
#include "braid/graph/text_tokens.h"
#include "braid/graph/verify.h"
#include "braid/plan/early_update.h"
#include "braid/plan/recompute.h"
#include "op_table.h"
#include "passes/model_steps.h"
#include "plan/random_plans.h"

namespace braid::plan {
namespace {

// A hash of how a value comes about: ops, attributes, keys, slots and inputs,
// whatever the order of nodes and the ids.
class Formulas {
 public:
  explicit Formulas(const Graph& graph) : graph_(graph) {
    hash_.resize(graph.values().size());
    for (const Slot& slot : graph.slots()) {
      slots_.push_back(stable_hash(slot.name));
    }
    for (ValueId id : graph.inputs())
      at(id) = stable_hash(graph.value(id).name);
    for (const Node& node : graph.nodes()) add(node);
  }

  // Of what slots hold after the step, and of outputs.
  std::map<std::string, uint64_t> results() const {
    std::map<std::string, uint64_t> all;
    for (size_t i = 0; i < slots_.size(); ++i) {
      all[graph_.slots()[i].name] = slots_[i];
    }
    for (const Output& output : graph_.outputs()) {
      all["output " + output.name] = hash_[static_cast<size_t>(output.value)];
    }
    return all;
  }

 private:
  uint64_t& at(ValueId id) { return hash_[static_cast<size_t>(id)]; }

  void add(const Node& node) {
    uint64_t hash = mix_bits(stable_hash(node.op->name), node.rng_key);
    for (const auto& [name, value] : node.attrs.items()) {
      hash = mix_bits(hash, stable_hash(name + attr_text(value)));
    }
    for (ValueId id : node.inputs) hash = mix_bits(hash, id < 0 ? 0 : at(id));
    if (node.slot != kNone) {
      uint64_t& slot = slots_[static_cast<size_t>(node.slot)];
      if (node.op->name == "read") at(node.outputs[0]) = slot;
      if (node.op->name == "assign") slot = at(node.inputs[0]);
      if (node.op->name == "accumulate") slot = mix_bits(slot, hash);
      return;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      at(node.outputs[i]) = mix_bits(hash, i);
    }
  }

  const Graph& graph_;
  std::vector<uint64_t> hash_, slots_;
};

class Rewrites : public testing::TestWithParam<std::string> {
 protected:
  passes::StepGraph step(StepOptions options = {}) const {
    return small_step(table(), GetParam(), options);
  }
  size_t segments() const { return num_segments(table(), GetParam()); }
  bool recomputed(const Plan& plan, const Node& node) const {
    return node.segment >= 0 &&
           plan.segments[static_cast<size_t>(node.segment)].activations ==
               Activations::kRecompute;
  }
};

TEST_P(Rewrites, RecomputationComputesTheSame) {
  Random random(21);
  for (int round = 0; round < 10; ++round) {
    passes::StepGraph before =
        step({.members = round % 3, .micro_batches = 1 + round % 2});
    Plan plan = random_plan(random, segments(), 0);
    passes::StepGraph after = add_recompute(table(), before, plan);
    verify(after.graph);
    EXPECT_EQ(Formulas(after.graph).results(),
              Formulas(before.graph).results());
    EXPECT_EQ(after.gradients, before.gradients);
  }
}

TEST_P(Rewrites, BackwardOfARecomputedSegmentReadsOnlyCopies) {
  Random random(22);
  Plan plan = random_plan(random, segments(), 0);
  plan.segments[0].activations = Activations::kRecompute;
  passes::StepGraph after = add_recompute(table(), step(), plan);
  const Graph& graph = after.graph;
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::kBackward || node.op->name == "assign") continue;
    for (ValueId id : node.inputs) {
      NodeId producer = id == kNone ? kNone : graph.value(id).producer;
      if (producer == kNone || graph.node(producer).op->name == "read")
        continue;
      const Node& maker = graph.node(producer);
      bool original =
          maker.phase == Phase::kForward && maker.segment == node.segment;
      EXPECT_FALSE(original && recomputed(plan, node)) << node.op->name;
    }
  }
}

// Copies are the new nodes: they come right before the segment's backward,
// belong to it, and there are none of segments that are kept.
TEST_P(Rewrites, CopiesStandBeforeTheFirstReader) {
  passes::StepGraph before = step();
  auto old_values = static_cast<ValueId>(before.graph.values().size());
  for (size_t s = 0; s < segments(); ++s) {
    Plan plan = keep_all(segments());
    plan.segments[s].activations = Activations::kRecompute;
    passes::StepGraph after = add_recompute(table(), before, plan);
    bool reader_seen = false;
    for (const Node& node : after.graph.nodes()) {
      bool is_copy = !node.outputs.empty() && node.outputs[0] >= old_values;
      if (is_copy) {
        EXPECT_EQ(node.segment, static_cast<int32_t>(s));
        EXPECT_EQ(node.phase, Phase::kBackward);
        EXPECT_FALSE(reader_seen) << node.op->name;
        EXPECT_FALSE(node.op->writes_slot);
      } else if (node.phase == Phase::kBackward && node.op->name != "assign" &&
                 node.segment == static_cast<int32_t>(s)) {
        reader_seen = true;
      }
    }
  }
}

TEST_P(Rewrites, CopiesLieAsTheirOriginals) {
  passes::StepGraph before = step();
  Plan plan = uniform(segments(), {Activations::kRecompute});
  passes::StepGraph after = add_recompute(table(), before, plan);
  EXPECT_GT(after.graph.nodes().size(), before.graph.nodes().size());
  std::map<std::pair<uint64_t, std::string>, std::set<std::string>> layouts;
  for (const Node& node : after.graph.nodes()) {
    if (node.rng_key == 0) continue;  // dropout and its copies share a key
    for (ValueId id : node.outputs) {
      const Value& value = after.graph.value(id);
      layouts[{node.rng_key, shape_text(value.type.shape)}].insert(
          shape_text(value.strides));
    }
  }
  for (const auto& [key, strides] : layouts) EXPECT_EQ(strides.size(), 1u);
}

TEST_P(Rewrites, KeepingEverythingRewritesNothing) {
  passes::StepGraph before = step();
  Plan plan = uniform(segments(), {Activations::kOffload});
  EXPECT_EQ(print_graph(add_recompute(table(), before, plan).graph),
            print_graph(before.graph));
}

TEST_P(Rewrites, EarlyUpdatesComputeTheSame) {
  for (int64_t members : {0, 2}) {
    StepOptions options{.members = members};
    if (members > 0) passes::set_option(options.optimizer, "ema_decay", 0.5);
    passes::StepGraph before = step(options);
    passes::StepGraph after = update_early(table(), before);
    verify(after.graph);
    EXPECT_EQ(Formulas(after.graph).results(),
              Formulas(before.graph).results());
    for (const Node& node : after.graph.nodes()) {
      EXPECT_TRUE(!node.op->updates || node.phase == Phase::kBackward);
    }
  }
}

// Updates, in the order of the graph, with nothing in between that runs.
size_t runs_of_updates(const Graph& graph) {
  size_t runs = 0;
  bool in_run = false;
  for (const Node& node : graph.nodes()) {
    bool is_free = node.is(OpKind::kRead) || node.is(OpKind::kAssign);
    if (is_free || node.op->view) continue;
    runs += node.op->updates && !in_run;
    in_run = node.op->updates;
  }
  return runs;
}

TEST_P(Rewrites, UpdatesThatWaitForOthersComputeTheSame) {
  for (double average : {0.0, 0.5}) {
    StepOptions options{.members = 2};
    if (average > 0) passes::set_option(options.optimizer, "ema_decay", 0.5);
    passes::StepGraph before = step(options);
    auto results = Formulas(before.graph).results();
    size_t last = SIZE_MAX;
    for (int64_t bytes : {int64_t{0}, int64_t{1000}, kNoLimit}) {
      passes::StepGraph after = update_early(table(), before, bytes);
      verify(after.graph);
      EXPECT_EQ(Formulas(after.graph).results(), results);
      size_t runs = runs_of_updates(after.graph);
      EXPECT_LE(runs, last);
      last = runs;
    }
    EXPECT_EQ(last, 1u);
  }
}

TEST_P(Rewrites, UpdatesThatNeedAllGradientsStay) {
  StepOptions clipped, accumulated{.micro_batches = 2};
  passes::set_option(clipped.optimizer, "clip_norm", 1);
  for (const StepOptions& options : {clipped, accumulated}) {
    passes::StepGraph before = step(options);
    passes::StepGraph after = update_early(table(), before);
    EXPECT_EQ(Formulas(after.graph).results(),
              Formulas(before.graph).results());
    for (const Node& node : after.graph.nodes()) {
      EXPECT_TRUE(!node.op->updates || node.phase == Phase::kUpdate);
    }
  }
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  return model_name(info.param);
}
INSTANTIATE_TEST_SUITE_P(Models, Rewrites, testing::ValuesIn(small_models()),
                         name_of);

}  // namespace
}  // namespace braid::plan
