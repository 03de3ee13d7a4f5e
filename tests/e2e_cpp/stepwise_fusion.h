// Fusions of mixed types computed step by step with the kernels of single ops,
// so that what is compiled for devices with such kernels runs on a CPU too.
#pragma once

#include <cstring>
#include <list>
#include <memory>

#include "braid/ops/core/fusion.h"
#include "braid/runtime/kernels/kernel.h"
#include "op_table.h"

namespace braid {

class StepwiseFusion {
 public:
  StepwiseFusion(const runtime::Call& call, const runtime::KernelTable& kernels)
      : outputs_(call.outputs),
        fusion_(read_fusion(call.attrs(), call.inputs.size())) {
    std::vector<DType> types;
    for (const runtime::Tensor& x : call.inputs) types.push_back(x.dtype);
    std::vector<DType> made = fusion_dtypes(fusion_, types);
    for (size_t s = 0; s < fusion_.steps.size(); ++s) {
      const FusionStep& step = fusion_.steps[s];
      runtime::Call one{.node = &node_of(step),
                        .inputs = {},
                        .outputs = {room_for(made[s])},
                        .workspace = &spaces_.emplace_back()};
      for (const FusionOperand& from : step.operands) {
        one.inputs.push_back(from.is_step ? made_[from.index]
                                          : call.inputs[from.index]);
      }
      made_.push_back(one.outputs[0]);
      runs_.push_back(kernels.prepare(one));
    }
  }

  // Outputs may lie where inputs lie: they are written last.
  void run() {
    for (const runtime::Thunk& step : runs_) step();
    for (size_t o = 0; o < outputs_.size(); ++o) {
      const runtime::Tensor& from = made_[fusion_.outputs[o]];
      std::memcpy(outputs_[o].data, from.data,
                  static_cast<size_t>(from.bytes()));
    }
  }

 private:
  const Node& node_of(const FusionStep& step) {
    std::string name = step.op->name;
    Node& node = nodes_.emplace_back();
    if (step.op->to) {
      node.attrs.set("dtype", std::string(dtype_name(*step.op->to)));
      name = "to";
    } else if (name.starts_with("gelu")) {
      node.attrs.set("tanh", step.op->tanh);
      name = name.ends_with("backward") ? "gelu_backward" : "gelu";
    }
    for (size_t i = 0; i < step.numbers.size(); ++i) {
      const char* number = step.op->numbers[i].name;
      if (number) node.attrs.set(number, step.numbers[i]);
    }
    node.op = &table().at(name);
    return node;
  }

  // Like the outputs, of that type.
  runtime::Tensor room_for(DType dtype) {
    runtime::Tensor t = outputs_[0];
    t.dtype = dtype;
    auto& memory = memory_.emplace_back(static_cast<size_t>(t.bytes()));
    t.data = memory.data();
    return t;
  }

  std::vector<runtime::Tensor> outputs_, made_;
  Fusion fusion_;
  std::list<Node> nodes_;
  std::list<runtime::Workspace> spaces_;
  std::list<std::vector<std::byte>> memory_;
  std::vector<runtime::Thunk> runs_;
};

// The kernels of the CPU, with such fusions. Borrows them.
inline runtime::KernelTable with_stepwise_fusions(
    const runtime::KernelTable& kernels) {
  runtime::KernelTable table = kernels;
  table.add("fusion", [&kernels](const runtime::Call& call) {
    auto fusion = std::make_shared<StepwiseFusion>(call, kernels);
    return runtime::Thunk([fusion] { fusion->run(); });
  });
  return table;
}

}  // namespace braid
