// What fusions are good for besides speed: values in between take no memory.
#include "braid/passes/rewrite/fusion.h"

#include <gtest/gtest.h>

#include "braid/plan/buffers.h"
#include "braid/plan/compile.h"
#include "models/zoo_sizes.h"
#include "passes/model_steps.h"
#include "passes/text_graphs.h"

namespace braid::plan {
namespace {

int64_t peak_of(const passes::StepGraph& step, size_t segments) {
  return compile(table(), step, keep_all(segments)).peak_bytes();
}

// Models have few long runs; none may take more than before.
TEST(FusionMemory, NoModelTakesMoreMemory) {
  int64_t fusions = 0;
  for (const std::string& model : zoo_models()) {
    for (int64_t members : {0, 3}) {
      passes::StepGraph before =
          small_step(table(), model, {.members = members});
      passes::StepGraph after = passes::fusion(table(), before);
      size_t segments = num_segments(table(), model);
      EXPECT_LE(peak_of(after, segments), peak_of(before, segments))
          << model << " " << members;
      fusions += passes::count_op(after.graph, "fusion");
    }
  }
  EXPECT_GT(fusions, 50);
}

TEST(FusionMemory, ValuesInBetweenTakeNone) {
  passes::StepGraph before{passes::graph_of(R"(
    input %0 "x" f32[128, 8]
    %2: f32[128, 8] = exp(%0)
    %3: f32[128, 8] = add(%0, %2)
    %4: f32[128, 8] = mul(%2, %3)
    output "y" %4
  )"),
                           1,
                           {}};
  passes::StepGraph after = passes::fusion(table(), before);
  EXPECT_EQ(peak_of(before, 1) - peak_of(after, 1), 4096);
}

// Nobody reads the first output, so its memory looks free.
TEST(FusionMemory, OutputsOfOneFusionLieApart) {
  Graph graph = passes::graph_of(R"(
    input %0 "x" f32[1000]
    %1: f32[1000] = exp(%0)
    %2: f32[1000], %3: f32[1000] = fusion(%1) {outputs=[0, 1], \
      steps="neg(x0); neg(s0) "}
    output "y" %3
  )");
  Buffers buffers = find_buffers(table(), graph);
  const Node& fusion = passes::node_of(graph, "fusion");
  EXPECT_EQ(buffers.of(fusion.outputs[0]), buffers.of(fusion.inputs[0]));
  EXPECT_NE(buffers.of(fusion.outputs[0]), buffers.of(fusion.outputs[1]));
}

}  // namespace
}  // namespace braid::plan
