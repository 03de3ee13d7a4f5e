#include "braid/cli/display/display_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "braid/cli/display/terminal.h"

namespace braid::cli {
namespace {

using Lines = std::vector<std::string>;

DisplayState state_of(int64_t step, int64_t steps, double steps_per_s,
                      const std::vector<double>& losses) {
  DisplayState state;
  state.step = step;
  state.steps = steps;
  state.steps_per_s = steps_per_s;
  for (double loss : losses) state.rows.push_back({"", loss, {}, {}});
  return state;
}

// All there is to show of one model.
DisplayState full_state() {
  DisplayState state = state_of(3100, 5000, 20, {1.2843});
  state.epoch = 2.44;
  state.epochs = 4;
  state.samples_per_step = 64;
  state.rows[0].lr = 3e-4;
  state.memory_bytes = 4'187'593'114;
  state.limit_bytes = int64_t{4} << 30;
  state.evaluation = "step 3000  loss 1.31  accuracy 0.962";
  return state;
}

TEST(PlainText, SaysStepLossRateAndTimeLeft) {
  EXPECT_EQ(plain_text(state_of(40, 100, 8.4, {1.2843})),
            "step   40/100  loss 1.284  8.4 steps/s  eta 8s");
  EXPECT_EQ(plain_text(state_of(1, 1000, 0.1, {0.5})),
            "step     1/1000  loss 0.5  0.1 steps/s  eta 2h46m");
  EXPECT_EQ(plain_text(state_of(5, 5, 1234.5, {2})),
            "step  5/5  loss 2  1234 steps/s  eta 0s");
}

TEST(PlainText, SaysAllThatIsKnown) {
  EXPECT_EQ(plain_text(full_state()),
            "step  3100/5000  epoch 2.4/4  loss 1.284  lr 3.0e-4  "
            "1280 samples/s  3.90 GiB of 4.00 GiB  eta 1m35s");
}

TEST(PlainText, ShowsTheSpanOfMembers) {
  EXPECT_EQ(plain_text(state_of(1, 2, 1, {0.5, 1.5, 1.0})),
            "step  1/2  loss 0.5..1.5  1 steps/s  eta 1s");
  EXPECT_EQ(plain_text(state_of(1, 2, 1, {0.5, NAN, 1.0})),
            "step  1/2  loss 0.5..1 (1 not finite)  1 steps/s  eta 1s");
  EXPECT_EQ(plain_text(state_of(1, 2, 1, {NAN, INFINITY})),
            "step  1/2  loss - (2 not finite)  1 steps/s  eta 1s");
}

TEST(PlainText, UnknownRateIsADash) {
  EXPECT_EQ(plain_text(state_of(0, 9, 0, {})), "step  0/9  0 steps/s  eta -");
  EXPECT_EQ(plain_text(state_of(0, 9, NAN, {})), "step  0/9  - steps/s  eta -");
}

TEST(Draw, ShowsBarNumbersAndEvaluation) {
  EXPECT_EQ(draw(full_state(), {.width = 79}),
            (Lines{" 62 %  ━━━━━━━━━━━━━━━━━━━────────────"
                   "  step  3100/5000  epoch 2.4/4  eta 1m35s",
                   "loss 1.284  lr 3.0e-4  1280 samples/s  3.90 GiB of "
                   "4.00 GiB",
                   "eval  step 3000  loss 1.31  accuracy 0.962"}));
}

TEST(Draw, TakesPlainCharactersWhereThereIsNoUtf8) {
  EXPECT_EQ(draw(state_of(50, 100, 1, {}), {.width = 50, .utf8 = false})[0],
            " 50 %  #########----------  step   50/100  eta 50s");
}

TEST(Draw, IsNeverWiderThanTheTerminal) {
  DisplayState state = full_state();
  state.rows.push_back({"模型-é-\x1b[2J", NAN, 1e-10, "stopped: not finite"});
  for (int width = 0; width < 130; ++width) {
    for (const std::string& line : draw(state, {.width = width})) {
      EXPECT_LE(text_width(line), width);
      EXPECT_EQ(line.find('\x1b'), line.npos);
    }
  }
}

TEST(Draw, DropsTheBarBeforeTheNumbers) {
  EXPECT_EQ(draw(full_state(), {.width = 55})[0],
            " 62 %  step  3100/5000  epoch 2.4/4  eta 1m35s");
}

TEST(Draw, HasARowForEachMember) {
  DisplayState state = state_of(1, 4, 1, {0.5, 1.25});
  state.rows[0].name = "trial-7";
  state.rows[0].lr = 1e-3;
  state.rows[1].name = "é";
  state.rows[1].note = "stopped early";
  EXPECT_EQ(
      draw(state, {.width = 60}),
      (Lines{" 25 %  ━━━━━━━━──────────────────────────  step  1/4  eta 3s",
             "loss 0.5..1.25  1 steps/s",
             "  trial-7  loss 0.5        lr 1.0e-3",
             "  é        loss 1.25       stopped early"}));
}

TEST(Draw, CountsTheRowsThatDoNotFit) {
  DisplayState state = state_of(1, 4, 1, {1, 2, 3, 4, 5});
  Lines lines = draw(state, {.width = 60, .most_rows = 2});
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines.back(), "  and 3 more");
}

TEST(Draw, StaysWithinItsBounds) {
  EXPECT_TRUE(draw(state_of(9, 4, 1, {}))[0].starts_with("100 %"));
  EXPECT_TRUE(draw(state_of(0, 0, 1, {}))[0].starts_with("  0 %"));
  EXPECT_TRUE(draw(state_of(999, 1000, 1, {}))[0].starts_with(" 99 %"));
}

TEST(DurationText, IsShort) {
  EXPECT_EQ(duration_text(0.2), "1s");
  EXPECT_EQ(duration_text(60), "1m00s");
  EXPECT_EQ(duration_text(3900), "1h05m");
  EXPECT_EQ(duration_text(INFINITY), "-");
}

}  // namespace
}  // namespace braid::cli
