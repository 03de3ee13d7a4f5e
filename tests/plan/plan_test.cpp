#include "braid/plan/plan.h"

#include <gtest/gtest.h>

#include "braid/plan/compile.h"
#include "passes/model_steps.h"
#include "thrown.h"

namespace braid::plan {
namespace {

std::string problem_of(const std::string& text) {
  return thrown_by([&] { parse_decision(text); });
}

TEST(PlanText, DecisionsReadBackFromTheirText) {
  for (int a = 0; a < 3; ++a) {
    for (int p = 0; p < 3; ++p) {
      for (int u = 0; u < 3; ++u) {
        Decision d{static_cast<Activations>(a), static_cast<Parameters>(p),
                   static_cast<Update>(u)};
        EXPECT_EQ(parse_decision(decision_text(d)), d);
      }
    }
  }
  EXPECT_EQ(decision_text({}), "keep,resident,device");
}

TEST(PlanText, WordsMayBeLeftOutAndComeInAnyOrder) {
  EXPECT_EQ(parse_decision("host, recompute"),
            (Decision{Activations::kRecompute, Parameters::kResident,
                      Update::kHost}));
  EXPECT_EQ(
      parse_decision("host_file,file"),
      (Decision{Activations::kKeep, Parameters::kFile, Update::kHostFile}));
}

TEST(PlanText, UnknownWordsNameTheNearest) {
  EXPECT_EQ(problem_of("keep,spiled"),
            "[plan] unknown word 'spiled' in 'keep,spiled'\n"
            "HINT: did you mean 'spilled'?");
  EXPECT_NE(problem_of(""), "");
  EXPECT_NE(problem_of("keep,,host"), "");
}

class ReportTest : public testing::Test {
 protected:
  OpTable ops_ = standard_ops();
  Program program_ = compile(ops_, small_step(ops_, small_models()[0]),
                             keep_all(num_segments(ops_, small_models()[0])));
};

TEST_F(ReportTest, BytesByLayerSumToTheFullestMoment) {
  int64_t slots = 0, arena = 0, before = program_.peak_bytes();
  for (const LayerBytes& row : bytes_by_layer(program_)) {
    EXPECT_LE(row.bytes, before);  // largest first
    before = row.bytes;
    (row.path.ends_with("s)") && row.path[0] == '(' && row.path != "(inputs)"
         ? slots
         : arena) += row.bytes;
  }
  EXPECT_EQ(slots, program_.device_slot_bytes());
  EXPECT_LE(arena, program_.arena_bytes);
  EXPECT_GT(arena, 0);
}

TEST_F(ReportTest, TellsWhatIsMissing) {
  std::string text = limit_report(program_, program_.peak_bytes() - 1);
  EXPECT_NE(text.find(fmt::format("needs {} bytes", program_.peak_bytes())),
            std::string::npos);
  EXPECT_NE(text.find(": 1 bytes short"), std::string::npos);
  EXPECT_NE(text.find("layers.0"), std::string::npos);
  EXPECT_NE(text.find("(parameters)"), std::string::npos);
  EXPECT_NE(text.find("HINT: "), std::string::npos);
}

TEST_F(ReportTest, SlotsCountWhereTheyLie) {
  EXPECT_EQ(program_.host_slot_bytes(), 0);
  int64_t sum = 0;
  for (const Slot& slot : program_.graph.slots()) sum += slot_bytes(slot);
  EXPECT_EQ(program_.device_slot_bytes(), sum);
  EXPECT_EQ(program_.peak_bytes(), sum + program_.arena_bytes);
  EXPECT_EQ(program_.disk_bytes(), 0);
}

// What learns and what is remembered of it; the rest stays on the device.
TEST_F(ReportTest, SlotsInAFileTakeNoOtherMemory) {
  Decision in_file{Activations::kKeep, Parameters::kFile, Update::kHostFile};
  Program program =
      compile(ops_, small_step(ops_, small_models()[0]), uniform(8, in_file));
  int64_t file = 0;
  for (const Slot& slot : program.graph.slots()) {
    bool is_there =
        slot.role == Role::kParameter || slot.role == Role::kOptimizer;
    if (is_there) file += slot_bytes(slot);
  }
  EXPECT_GT(file, 0);
  EXPECT_EQ(program.disk_bytes(), file);
  EXPECT_EQ(program.host_slot_bytes(), 0);
  EXPECT_EQ(program.device_slot_bytes(), program_.device_slot_bytes() - file);
}

}  // namespace
}  // namespace braid::plan
