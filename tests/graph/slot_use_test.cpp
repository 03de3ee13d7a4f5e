#include "braid/graph/slot_use.h"

#include <gtest/gtest.h>

#include "braid/graph/text.h"
#include "fake_rules.h"

namespace braid {
namespace {

struct Row {
  const char* name;
  Role role;
  SlotUse use;
};

const Row kRows[] = {
    {"counter/seed", Role::kCounter, SlotUse::kSeed},
    {"counter/step", Role::kCounter, SlotUse::kStep},
    {"counter/generator/step", Role::kCounter, SlotUse::kStep},
    {"counter/update", Role::kCounter, SlotUse::kUpdateCount},
    {"counter/loss_scale", Role::kCounter, SlotUse::kLossScale},
    {"counter/critic/loss_scale_growth", Role::kCounter,
     SlotUse::kLossScaleGrowth},
    {"counter/other", Role::kCounter, SlotUse::kGeneral},
    {"counter/active", Role::kCounter, SlotUse::kGeneral},
    {"array/active", Role::kCounter, SlotUse::kActiveMask},
    {"schedule/lr", Role::kCounter, SlotUse::kScheduledRate},
    {"schedule/lr:head.*", Role::kCounter, SlotUse::kScheduledRate},
    {"schedule/plateau", Role::kCounter, SlotUse::kPlateau},
    {"schedule/generator/plateau", Role::kCounter, SlotUse::kPlateau},
    {"hyper/lr", Role::kHyper, SlotUse::kGeneral},
    {"hyper/fc1.p", Role::kHyper, SlotUse::kDropoutRate},
    {"hyper/fc1.p12", Role::kHyper, SlotUse::kDropoutRate},
    {"hyper/.p", Role::kHyper, SlotUse::kDropoutRate},
    {"hyper/fc1.pool", Role::kHyper, SlotUse::kGeneral},
    {"hyper/lr:blocks.p1", Role::kHyper, SlotUse::kGeneral},
    {"hyper/label_smoothing", Role::kHyper, SlotUse::kLabelSmoothing},
    {"hyper/loss.label_smoothing2", Role::kHyper, SlotUse::kLabelSmoothing},
    {"optimizer/ema/fc1.weight", Role::kOptimizer, SlotUse::kAverage},
    {"optimizer/exp_avg/fc1.weight", Role::kOptimizer, SlotUse::kGeneral},
    // A model may call its own as it likes.
    {"fc1.p", Role::kParameter, SlotUse::kGeneral},
    {"counter.seed", Role::kBuffer, SlotUse::kGeneral},
    {"seed", Role::kCounter, SlotUse::kGeneral},
};

TEST(SlotUse, NamesTellTheirUse) {
  for (const Row& row : kRows) {
    EXPECT_EQ(use_of_name(row.name, row.role), row.use) << row.name;
  }
}

TEST(SlotUse, TextTellsTheUseOfASlot) {
  FakeRules rules;
  Graph graph = parse_graph(
      "braid-graph 1\n"
      "slot \"hyper/drop.p\" f64[] hyper constant(0.5)\n"
      "slot \"member.1/hyper/other.p2\" f64[] hyper constant(0.5) owners=[1]\n"
      "slot \"counter/seed\" i64[] counter constant(0.0) members=2\n"
      "slot \"fc.p\" f32[2] parameter constant(0.0)\n",
      rules);
  EXPECT_EQ(graph.slot(0).use, SlotUse::kDropoutRate);
  EXPECT_EQ(graph.slot(1).use, SlotUse::kDropoutRate);
  EXPECT_EQ(graph.slot(2).use, SlotUse::kSeed);
  EXPECT_EQ(graph.slot(3).use, SlotUse::kGeneral);
  Graph again = parse_graph(print_graph(graph), rules);
  EXPECT_EQ(again.slots(), graph.slots());
}

TEST(SlotUse, TextSaysWhatANameDoesNotTell) {
  FakeRules rules;
  Graph graph(rules);
  for (int use = 0; use < 12; ++use) {
    graph.add_slot({.name = fmt::format("hyper/{}.p", use),
                    .role = Role::kHyper,
                    .use = static_cast<SlotUse>(use)});
  }
  EXPECT_EQ(parse_graph(print_graph(graph), rules).slots(), graph.slots());
  EXPECT_NE(print_graph(graph).find("use=seed"), std::string::npos);
  EXPECT_EQ(print_graph(graph).find("use=dropout_rate"), std::string::npos);
  EXPECT_THROW(parse_graph("braid-graph 1\nslot \"a\" f32[] hyper "
                           "constant(0.0) use=nothing\n",
                           rules),
               std::invalid_argument);
}

TEST(SlotUse, ASlotBesideAnotherHasItsOwn) {
  Slot rate{
      .name = "hyper/a.p", .role = Role::kHyper, .use = SlotUse::kDropoutRate};
  EXPECT_EQ(rate.beside("x", Role::kGradient).use, SlotUse::kGeneral);
  EXPECT_EQ(rate.beside("x", Role::kOptimizer, SlotUse::kAverage).use,
            SlotUse::kAverage);
}

}  // namespace
}  // namespace braid
