#include "braid/passes/step/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>
#include <stdexcept>

#include "thrown.h"

namespace braid::passes {
namespace {

double rate(const std::string& text, double step, double lr = 0.5,
            double reductions = 0) {
  return learning_rate(parse_schedule(text), lr, {step, reductions});
}

std::string problem_of(const std::string& text) {
  return thrown_by([&] { parse_schedule(text); });
}

TEST(Schedule, ConstantAndSteps) {
  EXPECT_EQ(rate("constant", 1000), 0.5);
  EXPECT_EQ(rate("step(step_size=10)", 9), 0.5);
  EXPECT_DOUBLE_EQ(rate("step(step_size=10)", 10), 0.05);
  EXPECT_DOUBLE_EQ(rate("step(step_size=10,gamma=0.5)", 35), 0.5 / 8);
  EXPECT_EQ(rate("multi_step(milestones=[3,8],gamma=0.5)", 2), 0.5);
  EXPECT_EQ(rate("multi_step(milestones=[3,8],gamma=0.5)", 3), 0.25);
  EXPECT_EQ(rate("multi_step(milestones=[8,3],gamma=0.5)", 8), 0.125);
  // As in torch, a milestone that stands there twice counts twice.
  EXPECT_EQ(rate("multi_step(milestones=[3,3],gamma=0.5)", 3), 0.125);
  EXPECT_DOUBLE_EQ(rate("exponential(gamma=0.9)", 5), 0.5 * std::pow(0.9, 5));
}

TEST(Schedule, Cosines) {
  EXPECT_EQ(rate("cosine(steps=10)", 0), 0.5);
  EXPECT_DOUBLE_EQ(rate("cosine(steps=10,min_lr=0.1)", 5), 0.3);
  EXPECT_DOUBLE_EQ(rate("cosine(steps=10,min_lr=0.1)", 10), 0.1);
  // As in torch, it rises again.
  EXPECT_DOUBLE_EQ(rate("cosine(steps=10,min_lr=0.1)", 20), 0.5);
  EXPECT_DOUBLE_EQ(rate("restarts(period=10)", 5), 0.25);
  EXPECT_EQ(rate("restarts(period=10)", 10), 0.5);
  EXPECT_EQ(rate("restarts(period=10)", 1e9), 0.5);
  // Periods of 10, 20, 40 steps.
  EXPECT_EQ(rate("restarts(period=10,growth=2)", 30), 0.5);
  EXPECT_DOUBLE_EQ(rate("restarts(period=10,growth=2)", 50), 0.25);
}

TEST(Schedule, LinesAndPowersStayAtTheirEnd) {
  EXPECT_DOUBLE_EQ(rate("linear(steps=4)", 1), 0.375);
  EXPECT_EQ(rate("linear(steps=4)", 9), 0);
  EXPECT_DOUBLE_EQ(rate("linear(steps=4,start_factor=0.5,end_factor=2)", 2),
                   0.625);
  EXPECT_EQ(rate("linear(steps=4,start_factor=0.5,end_factor=2)", 9), 1);
  EXPECT_DOUBLE_EQ(rate("polynomial(steps=4,power=2)", 2), 0.125);
  EXPECT_EQ(rate("polynomial(steps=4,power=2)", 5), 0);
}

TEST(Schedule, OneCycle) {
  const char* text = "one_cycle(steps=20,start_share=0.5,div=10,final_div=100)";
  EXPECT_DOUBLE_EQ(rate(text, 0), 0.05);
  EXPECT_DOUBLE_EQ(rate(text, 9), 0.5);
  EXPECT_DOUBLE_EQ(rate(text, 14), 0.25 + 0.00025);
  EXPECT_DOUBLE_EQ(rate(text, 19), 0.0005);
  EXPECT_DOUBLE_EQ(rate(text, 1000), 0.0005);
  // Shares at the ends divide by nothing.
  EXPECT_EQ(rate("one_cycle(steps=1)", 0), 0.5 / 25 / 1e4);
  EXPECT_EQ(rate("one_cycle(steps=10,start_share=0.1)", 0), 0.5);
  EXPECT_EQ(rate("one_cycle(steps=10,start_share=1)", 9), 0.5);
  EXPECT_EQ(rate("one_cycle(steps=10,start_share=1)", 10), 0.5 / 25 / 1e4);
}

TEST(Schedule, Noam) {
  const char* text = "noam(width=64,warmup=100)";
  EXPECT_DOUBLE_EQ(rate(text, 0, 2), 2 / 8.0 / 1000);
  EXPECT_DOUBLE_EQ(rate(text, 99, 2), 2 / 8.0 / 10);
  EXPECT_DOUBLE_EQ(rate(text, 399, 2), 2 / 8.0 / 20);
}

TEST(Schedule, AnyMayWarmUp) {
  const char* text = "cosine(steps=10,warmup=4,warmup_factor=0.2)";
  EXPECT_DOUBLE_EQ(rate(text, 0), 0.1);
  EXPECT_DOUBLE_EQ(rate(text, 2), 0.3);
  EXPECT_EQ(rate(text, 4), 0.5);
  EXPECT_DOUBLE_EQ(rate(text, 9), 0.25);
  EXPECT_EQ(rate("constant(warmup=4)", 0), 0);
  EXPECT_EQ(rate("constant(warmup=4)", 3), 0.375);
  // The first rate of a cycle is not its highest.
  EXPECT_NEAR(rate("one_cycle(steps=20,warmup=4)", 2), 0.5 / 25 / 2, 1e-15);
}

TEST(Schedule, PlateausLowerTheRateStepByStep) {
  EXPECT_EQ(rate("plateau(factor=0.5)", 7), 0.5);
  EXPECT_EQ(rate("plateau(factor=0.5)", 7, 0.5, 2), 0.125);
  EXPECT_EQ(rate("plateau(factor=0.5,min_lr=0.2)", 7, 0.5, 2), 0.2);
  // A fall of less than eps is none.
  EXPECT_EQ(rate("plateau(factor=0.5,eps=0.1)", 7, 0.5, 100), 0.125);
  EXPECT_EQ(rate("plateau(factor=0.5)", 7, 1e-8, 1e300), 1e-8);
}

double reductions_after(const std::string& text, std::vector<double> losses) {
  Schedule schedule = parse_schedule(text);
  Plateau plateau;
  for (size_t i = 0; i < losses.size(); ++i) {
    observe(schedule, plateau, static_cast<double>(i), losses[i]);
  }
  return plateau.reductions;
}

TEST(Schedule, PlateausWaitForPatience) {
  EXPECT_EQ(reductions_after("plateau(patience=2)", {5, 5, 5}), 0);
  EXPECT_EQ(reductions_after("plateau(patience=2)", {5, 5, 5, 5}), 1);
  EXPECT_EQ(reductions_after("plateau(patience=2)", {5, 5, 5, 4, 4, 4}), 0);
  EXPECT_EQ(reductions_after("plateau(patience=0)", {5, 5, 5, 5}), 3);
  EXPECT_EQ(reductions_after("plateau(patience=0,cooldown=2)", {5, 5, 5, 5}),
            1);
  // A loss that is no number is never better.
  EXPECT_EQ(reductions_after("plateau(patience=1)", {NAN, NAN}), 1);
  EXPECT_EQ(reductions_after("plateau(patience=1,warmup=2)", {9, 9, 5, 5}), 0);
}

TEST(Schedule, PlateausHaveAThreshold) {
  EXPECT_EQ(reductions_after("plateau(patience=0,threshold=0.1)", {10, 9.5}),
            1);
  EXPECT_EQ(reductions_after("plateau(patience=0,threshold=0.1)", {10, 8.5}),
            0);
  EXPECT_EQ(reductions_after("plateau(patience=0,threshold=0.1,absolute=1)",
                             {10, 9.8}),
            0);
  EXPECT_EQ(reductions_after("plateau(patience=0,threshold=0.1,absolute=1)",
                             {10, 9.95}),
            1);
}

TEST(Schedule, OthersDoNotWatch) {
  EXPECT_EQ(reductions_after("cosine(steps=5)", {5, 5, 5}), 0);
  EXPECT_FALSE(watches_loss({}));
  EXPECT_TRUE(watches_loss(parse_schedule("plateau")));
}

TEST(Schedule, TextGoesThereAndBack) {
  for (const char* text :
       {"constant", "cosine(steps=100,min_lr=1e-05)",
        "multi_step(milestones=[30,80],gamma=0.1)",
        "linear(steps=7,warmup=10,warmup_factor=0.25)",
        "noam(width=512,warmup=4000)", "multi_step(milestones=[])",
        "plateau(patience=3,min_lr=0.001)"}) {
    EXPECT_EQ(schedule_text(parse_schedule(text)), text);
  }
  EXPECT_EQ(schedule_text(parse_schedule("cosine( min_lr=1e-5, steps=1e2 )")),
            "cosine(steps=100,min_lr=1e-05)");
}

std::string text_for(const char* text, int64_t num_steps) {
  return schedule_text(for_length(parse_schedule(text), num_steps));
}

TEST(Schedule, WithoutStepsEndsWithTheRun) {
  EXPECT_EQ(text_for("cosine", 90), "cosine(steps=90)");
  EXPECT_EQ(text_for("cosine(warmup=20,min_lr=0.1)", 90),
            "cosine(steps=70,min_lr=0.1,warmup=20)");
  EXPECT_EQ(text_for("linear", 1), "linear(steps=1)");
  EXPECT_EQ(text_for("polynomial(power=2)", 8), "polynomial(steps=8,power=2)");
  EXPECT_EQ(text_for("one_cycle(warmup=2)", 10), "one_cycle(steps=8,warmup=2)");
  // A run may end while it warms up.
  EXPECT_EQ(text_for("cosine(warmup=20)", 5), "cosine(steps=1,warmup=20)");
}

TEST(Schedule, SharesAreOfTheWholeRun) {
  EXPECT_EQ(text_for("cosine(warmup=5%)", 940), "cosine(steps=893,warmup=47)");
  EXPECT_EQ(text_for("cosine(steps=50%,warmup=10%)", 200),
            "cosine(steps=100,warmup=20)");
  EXPECT_EQ(text_for("multi_step(milestones=[50%,75%],gamma=0.5)", 30),
            "multi_step(milestones=[15,23],gamma=0.5)");
  EXPECT_EQ(text_for("restarts(period=25%)", 100), "restarts(period=25)");
  EXPECT_EQ(text_for("noam(width=64,warmup=2.5%)", 4000),
            "noam(width=64,warmup=100)");
  EXPECT_EQ(text_for("plateau(patience=10%,cooldown=1%)", 100),
            "plateau(patience=10,cooldown=1)");
  // At least one step where none makes no sense.
  EXPECT_EQ(text_for("step(step_size=1%)", 3), "step(step_size=1)");
  EXPECT_EQ(text_for("constant(warmup=1%)", 3), "constant(warmup=0)");
  EXPECT_EQ(text_for("cosine(warmup=100%)", 7), "cosine(steps=1,warmup=7)");
}

TEST(Schedule, WhatHasALengthKeepsIt) {
  for (const char* text :
       {"constant", "cosine(steps=100,warmup=3)", "plateau(patience=3)",
        "multi_step(milestones=[30,80])", "noam(width=8,warmup=10)"}) {
    Schedule schedule = parse_schedule(text);
    EXPECT_FALSE(needs_length(schedule)) << text;
    EXPECT_EQ(for_length(schedule, 7), schedule) << text;
  }
  for (const char* text : {"cosine", "linear", "one_cycle", "polynomial",
                           "cosine(steps=9,warmup=5%)"}) {
    EXPECT_TRUE(needs_length(parse_schedule(text))) << text;
    EXPECT_EQ(schedule_text(parse_schedule(text)), text);
  }
}

TEST(Schedule, SharesHaveRanges) {
  EXPECT_EQ(problem_of("cosine(warmup=101%)"),
            "[schedule] cosine: 'warmup' must be from 0% to 100% of the run, "
            "got 101%");
  EXPECT_EQ(problem_of("cosine(steps=0%)"),
            "[schedule] cosine: 'steps' must be above 0% and up to 100% of the "
            "run, got 0%");
  EXPECT_EQ(problem_of("cosine(min_lr=5%)"),
            "[schedule] cosine: 'min_lr' is a number, not a share of the run");
  EXPECT_EQ(problem_of("cosine(warmup=[5%,6%])"),
            "[schedule] cosine: 'warmup' is one number");
  EXPECT_NE(problem_of("cosine(warmup=nan%)"), "");
  EXPECT_NE(problem_of("cosine(warmup=-1%)"), "");
}

TEST(Schedule, MistakesNameTheNearest) {
  EXPECT_EQ(problem_of("cosin(steps=4)"),
            "[schedule] unknown kind 'cosin'\nHINT: did you mean 'cosine'?");
  EXPECT_EQ(problem_of("cosine(stops=4)"),
            "[schedule] cosine has no value 'stops'\n"
            "HINT: did you mean 'steps'?");
  EXPECT_EQ(problem_of("cosine(steps=4,warm_up=1)"),
            "[schedule] cosine has no value 'warm_up'\n"
            "HINT: did you mean 'warmup'?");
  EXPECT_EQ(problem_of("restarts"),
            "[schedule] restarts needs the value 'period'\n"
            "HINT: write restarts(period,growth=1,min_lr=0)");
  EXPECT_EQ(problem_of("noam(width=4,warmup=2,warmup_factor=1)"),
            "[schedule] noam has no value 'warmup_factor'\n"
            "HINT: did you mean 'warmup'?");
}

TEST(Schedule, ValuesHaveRanges) {
  EXPECT_EQ(problem_of("cosine(steps=0)"),
            "[schedule] cosine: 'steps' must be above 0, got 0");
  EXPECT_EQ(problem_of("restarts(period=4,growth=0.5)"),
            "[schedule] restarts: 'growth' must be at least 1, got 0.5");
  EXPECT_EQ(problem_of("one_cycle(steps=4,start_share=1.5)"),
            "[schedule] one_cycle: 'start_share' must be from 0 to 1, got 1.5");
  for (const char* text :
       {"cosine(steps=inf)", "cosine(steps=nan)", "cosine(steps=-1)",
        "exponential(gamma=-0.5)", "constant(warmup=-1)"}) {
    EXPECT_NE(problem_of(text).find("must be"), std::string::npos) << text;
  }
  EXPECT_EQ(problem_of("cosine(steps=[4])"),
            "[schedule] cosine: 'steps' is one number");
  EXPECT_EQ(problem_of("constant(warmup=[4])"),
            "[schedule] constant: 'warmup' is one number");
  EXPECT_EQ(problem_of("multi_step(milestones=30)"),
            "[schedule] multi_step: 'milestones' is a list: [30,80]");
}

TEST(Schedule, EveryRowIsComplete) {
  std::set<std::string> names;
  for (const ScheduleKind& kind : schedule_kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_FALSE(kind.summary.empty()) << kind.name;
    Schedule schedule{kind.name, {}};
    for (const ScheduleValue& value : kind.values) {
      schedule.values[value.name] = {value.value.value_or(1)};
    }
    validate(schedule);
    EXPECT_EQ(parse_schedule(schedule_text(schedule)), schedule);
    for (double step : {0, 1, 1000}) {
      double at = learning_rate(schedule, 0.1, {step});
      EXPECT_TRUE(std::isfinite(at) && at >= 0) << kind.name;
    }
  }
  EXPECT_EQ(names.size(), 11u);
}

}  // namespace
}  // namespace braid::passes
