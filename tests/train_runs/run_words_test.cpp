#include "braid/train/run/run_words.h"

#include <gtest/gtest.h>

#include "braid/base/printable.h"
#include "braid/data/sources.h"

namespace braid::train {
namespace {

TEST(RunWords, AnEvaluationTellsWhoseWeightsTheseAre) {
  RunRecord record{.last_eval = 300, .evaluation = {{"loss", 0.125}}};
  EXPECT_EQ(result_words(record), "eval   step 300  loss 0.125");
  record.raw_evaluation = {{"loss", 0.5}};
  EXPECT_EQ(result_words(record),
            "eval   step 300  loss 0.125  (averaged weights; raw:  loss 0.5)");
}

TEST(RunWords, FieldsHaveTypesAndClasses) {
  auto glyphs = data::open_source("glyphs", {{"classes", "10"}});
  EXPECT_EQ(field_words(*glyphs),
            "fields x f32 [1, 28, 28], y i64 [] below 10");
}

TEST(RunWords, DecisionsOfAPlanAreCounted) {
  plan::Plan plan = plan::keep_all(3);
  plan.segments[1].activations = plan::Activations::kRecompute;
  compile::ProgramSet set{.plan = plan};
  EXPECT_EQ(plan_words(set),
            "plan   3 segments: 2 keep, 1 recompute · prefetch 1");
  set.choice = {.trial = {.seconds = 0.53}, .unlimited_s = 0.5};
  EXPECT_EQ(plan_words(set),
            "plan   3 segments: 2 keep, 1 recompute · prefetch 1 · about 6.0 % "
            "more time than without a limit");
}

}  // namespace
}  // namespace braid::train
