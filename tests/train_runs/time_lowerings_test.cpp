#include "braid/train/array/time_lowerings.h"

#include <gtest/gtest.h>

#include "braid/graph/text.h"
#include "braid/plan/lowering_profile.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/train/trainer.h"

namespace braid::train {
namespace {

const char* kModel = R"(braid-graph 1
slot "w1" f32[4, 3, 3, 3] parameter uniform(-1.0, 1.0)
slot "w2" f32[2, 4, 1, 1] parameter uniform(-1.0, 1.0)
input %0 "x" f32[2, 3, 6, 6]
%1: f32[4, 3, 3, 3] = read "w1"
%2: f32[2, 4, 4, 4] = conv2d(%0, %1) {stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1}
%3: f32[2, 4, 1, 1] = read "w2"
%4: f32[2, 2, 4, 4] = conv2d(%2, %3) {stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1}
%5: f32[] = mean(%4) {dims=[0, 1, 2, 3], keep_dims=false}
output "loss" %5
)";

class TimeLowerings : public testing::Test {
 protected:
  NodeView convolution(int n) const {
    for (const Node& node : model_.nodes()) {
      if (node.op->name == "conv2d" && n-- == 0) return {model_, node};
    }
    fail_usage("there is no convolution");
  }

  OpTable ops_ = standard_ops();
  Graph model_ = parse_graph(kModel, ops_);
  runtime::KernelTable kernels_ = runtime::cpu_kernels();
  runtime::CpuBackend backend_{kernels_, {}};
};

TEST_F(TimeLowerings, FillsInWhatAProfileLacks) {
  plan::Profile all = time_lowerings(ops_, model_, 2, backend_, 1);
  EXPECT_EQ(all.size(plan::Measured::kLowering),
            3u + 4u);  // a product has one more
  for (int n : {0, 1}) {
    NodeView one = convolution(n);
    for (Lowering lowering : lowerings_of(one)) {
      auto seconds =
          all.find(plan::Measured::kLowering,
                   plan::lowering_key(DeviceKind::kCpu, 1, one, 2, lowering));
      ASSERT_TRUE(seconds) << lowering_name(lowering);
      EXPECT_GT(*seconds, 0);
    }
  }
  EXPECT_EQ(time_lowerings(ops_, model_, 2, backend_, 1, all)
                .size(plan::Measured::kLowering),
            0u);
  EXPECT_EQ(time_lowerings(ops_, model_, 3, backend_, 1, all)
                .size(plan::Measured::kLowering),
            7u);
}

TEST_F(TimeLowerings, AreWhatAProgramGoesBy) {
  for (Lowering wanted : {Lowering::kMember, Lowering::kGrouped}) {
    compile::Target target{.device = plan::cpu_device(1)};
    for (int n : {0, 1}) {
      for (Lowering lowering : lowerings_of(convolution(n))) {
        target.profile.set(plan::Measured::kLowering,
                           plan::lowering_key(DeviceKind::kCpu, 1,
                                              convolution(n), 2, lowering),
                           lowering == wanted ? 1e-3 : 1);
      }
    }
    compile::StepSpec spec{.forward = model_,
                           .optimizer = passes::make_optimizer("sgd"),
                           .capacity = 2};
    passes::StepGraph step = compile::build_step(ops_, spec, target).step;
    for (const Node& node : step.graph.nodes()) {
      if (node.op->name != "conv2d") continue;
      EXPECT_EQ(node.attrs.has("members"), wanted == Lowering::kMember);
    }
  }
}

}  // namespace
}  // namespace braid::train
