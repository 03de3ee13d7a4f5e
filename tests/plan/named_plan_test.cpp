// Plans by names and patterns of segments.
#include "braid/plan/named_plan.h"

#include <gtest/gtest.h>

#include "thrown.h"

namespace braid::plan {
namespace {

using Names = std::vector<std::string>;

const Names kSegments{"emb", "h.0", "h.0.mlp", "h.1", "h.1.mlp", "head"};

NamedPlan plan_of(std::vector<std::pair<std::string, std::string>> decisions) {
  NamedPlan plan;
  for (auto& [segment, text] : decisions) {
    plan.segments.push_back({std::move(segment), parse_decision(text)});
  }
  return plan;
}

// A word for each segment; "-" for what is left open.
std::string words(const NamedPlan& plan) {
  std::string text;
  for (const auto& decision : resolve(plan, kSegments).segments) {
    text +=
        (text.empty() ? "" : " ") + (decision ? short_text(*decision) : "-");
  }
  return text;
}

TEST(NamedPlan, LeavesOpenWhatItDoesNotName) {
  EXPECT_EQ(words({}), "- - - - - -");
  EXPECT_EQ(words(plan_of({{"head", "spilled"}})), "- - - - - spilled");
  EXPECT_EQ(words(plan_of({{"default", "keep"}, {"emb", "host"}})),
            "host keep keep keep keep keep");
}

TEST(NamedPlan, TheFinerNameCountsWhateverTheOrder) {
  EXPECT_EQ(words(plan_of({{"h.*.mlp", "recompute"}, {"h.*", "offload"}})),
            "- offload recompute offload recompute -");
  EXPECT_EQ(words(plan_of({{"h.*", "offload"}, {"h.*.mlp", "recompute"}})),
            "- offload recompute offload recompute -");
}

TEST(NamedPlan, ANameStandsForWhatIsInsideToo) {
  EXPECT_EQ(words(plan_of({{"h.0", "recompute"}})),
            "- recompute recompute - - -");
  EXPECT_EQ(words(plan_of({{"h.0", "recompute"}, {"h.*", "offload"}})),
            "- recompute recompute offload offload -");
}

TEST(NamedPlan, OfEqualsTheLaterCounts) {
  EXPECT_EQ(words(plan_of({{"h.1.mlp", "offload"}, {"h.1.mlp", "host"}})),
            "- - - - host -");
}

TEST(NamedPlan, NamesThatFitNothingAreTold) {
  NamedPlan plan = plan_of({{"h.7", "keep"}});
  plan.segments[0].where = "plan.yaml line 3";
  std::string text = thrown_by([&] { resolve(plan, kSegments); });
  EXPECT_TRUE(text.starts_with(
      "[plan] plan.yaml line 3: the model has no segment 'h.7'\nHINT: "))
      << text;
}

TEST(NamedPlan, OpenDecisionsAreFilled) {
  NamedPlan named = plan_of({{"emb", "spilled"}});
  named.depth = 3;
  PartialPlan partial = resolve(named, kSegments);
  EXPECT_FALSE(partial.is_complete());
  Plan plan = partial.filled({.activations = Activations::kRecompute});
  EXPECT_EQ(plan.depth, 3);
  EXPECT_EQ(short_text(plan.segments[0]), "spilled");
  EXPECT_EQ(short_text(plan.segments[5]), "recompute");
}

TEST(NamedPlan, RulesCutWhatIsNamed) {
  NamedPlan plan = plan_of({{"default", "keep"}, {"h.*.mlp", "recompute"}});
  plan.joined = {{"h.0", "h.1"}};
  EXPECT_EQ(plan.rules(), (passes::SegmentRules{.cuts = {"h.*.mlp"},
                                                .joined = {{"h.0", "h.1"}}}));
}

}  // namespace
}  // namespace braid::plan
