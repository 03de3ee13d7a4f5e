#include "braid/cli/display/gantt.h"

#include <gtest/gtest.h>

namespace braid::cli {
namespace {

using Lines = std::vector<std::string>;

// Two devices; the first goes from one job to another and back.
schedule::Outcome outcome() {
  schedule::Outcome outcome;
  outcome.spans = {{.device = 0, .job = 0, .begin_ns = 0, .end_ns = 20},
                   {.device = 0, .job = 0, .begin_ns = 20, .end_ns = 40},
                   {.device = 1, .job = 2, .begin_ns = 0, .end_ns = 50},
                   {.device = 0, .job = 1, .begin_ns = 40, .end_ns = 80},
                   {.device = 0, .job = 0, .begin_ns = 80, .end_ns = 100}};
  outcome.end_ns = 100;
  return outcome;
}

TEST(Gantt, HasALineForEachDevice) {
  EXPECT_EQ(gantt_lines(outcome(), {"cpu", "cpu:1"}, {"x", "y", "z"}, 17),
            (Lines{"cpu    aaaabbbbaa", "cpu:1  ccccc.....", "  a  x", "  b  y",
                   "  c  z"}));
}

TEST(Gantt, APartIsOfWhoHasMostOfIt) {
  schedule::Outcome fine = outcome();
  fine.spans[0].end_ns = 4;  // a has 4 of 10
  fine.spans[1] = {.device = 0, .job = 1, .begin_ns = 4, .end_ns = 40};
  EXPECT_EQ(gantt_lines(fine, {"cpu", "cpu:1"}, {"x", "y", "z"}, 17)[0],
            "cpu    bbbbbbbbaa");
}

TEST(Gantt, ThePictureHasARectangleForWhatFollowsEachOther) {
  std::string svg = gantt_svg(outcome(), {"cpu", "cpu:1"}, {"x", "y", "<z>"});
  size_t count = 0;
  for (size_t at = svg.find("<rect"); at != svg.npos;
       at = svg.find("<rect", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 1u + 4 + 3);  // paper, spans, legend
  EXPECT_NE(svg.find("&lt;z&gt;"), svg.npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(Gantt, NothingIsALineOfDots) {
  EXPECT_EQ(gantt_lines({}, {"cpu"}, {}, 15), (Lines{"cpu  .........."}));
}

}  // namespace
}  // namespace braid::cli
