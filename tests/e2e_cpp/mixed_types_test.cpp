// Steps as they are compiled for devices whose kernels mix types: channels that
// lie last, split norms, fusions with casts, gradients in bf16. They run on the
// CPU here, and train as steps that are compiled for it.
#include "braid/runtime/executables.h"
#include "narrow_cases.h"
#include "stepwise_fusion.h"

namespace braid::gpu_runs {
namespace {

plan::DeviceInfo mixing(plan::DeviceInfo info) {
  info.mixes_types = true;
  info.has_epilogues = true;
  info.wants_channels_last = true;
  info.narrow_gradients = true;
  return info;
}

// One model or array on the CPU, compiled for it or for such a device.
class Compiled {
 public:
  Compiled(const NarrowCase& c, DType dtype, DType precision, int64_t members,
           bool mixed)
      : kernels_(with_stepwise_fusions(kernels())),
        backend_(mixed ? kernels_ : kernels(), {}) {
    Setting setting{c.model, dtype, members, "sgd", c.sizes};
    std::vector<compile::StepSpec> specs{
        {.forward = forward(setting),
         .optimizer = passes::make_optimizer("sgd"),
         .capacity = members,
         .precision = precision}};
    set_option(specs[0].optimizer, "lr", 0.5);
    compile::Target target = runtime::target_of(table(), backend_, 1);
    if (mixed) target.device = mixing(target.device);
    auto set = std::make_shared<const compile::ProgramSet>(
        compile::compile_programs(table(), specs, target));
    programs_ = std::make_unique<runtime::Executables>(
        table(), specs, backend_, runtime::ExecutableOptions{.set = set});
    std::vector<int64_t> seeds{7, 8, 9};
    seeds.resize(static_cast<size_t>(std::max<int64_t>(members, 1)));
    state().initialise(seeds);
  }

  runtime::State& state() { return programs_->state(); }
  const Graph& graph() const { return programs_->program(0).graph; }

  void steps(int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      std::map<ValueId, std::vector<std::byte>> inputs;
      programs_->executor(0).step([&](int64_t micro, ValueId id) {
        auto& bytes = inputs[id];
        const Value& value = graph().value(id);
        bytes = input_content(value, i * 16 + micro);
        make_answers(value, bytes);
        return bytes.data();
      });
    }
  }

  // Of a slot that is known by name; f32 or f64.
  std::vector<double> content(const Slot& slot) {
    return numbers(state().read(state().find(slot.name)), slot.dtype);
  }

 private:
  runtime::KernelTable kernels_;
  runtime::CpuBackend backend_;
  std::unique_ptr<runtime::Executables> programs_;
};

double distance(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(sum);
}

// In f64 nothing is narrow: what is split and fused computes the same.
TEST(MixedTypes, StepsInF64AreThoseOfTheCpu) {
  for (const NarrowCase& c : kNarrowCases) {
    for (int64_t members : {0, 3}) {
      SCOPED_TRACE(c.model + " " + std::to_string(members));
      DType f64 = DType::kFloat64;
      Compiled plain(c, f64, DType::kFloat32, members, false);
      Compiled mixed(c, f64, DType::kFloat32, members, true);
      plain.steps(3);
      mixed.steps(3);
      for (const Slot& slot : plain.state().slots()) {
        std::vector<double> a = plain.content(slot), b = mixed.content(slot);
        double size = distance(a, std::vector<double>(a.size())) + 1e-6;
        EXPECT_LE(distance(b, a) / size, 1e-9) << slot.name;
      }
    }
  }
}

// In bf16 they are as near to f32 as steps of the CPU are.
TEST(MixedTypes, StepsInBf16AreAsNearAsThoseOfTheCpu) {
  for (const NarrowCase& c : kNarrowCases) {
    for (int64_t members : {0, 3}) {
      SCOPED_TRACE(c.model + " " + std::to_string(members));
      DType f32 = DType::kFloat32, bf16 = DType::kBFloat16;
      Compiled full(c, f32, f32, members, false);
      Compiled plain(c, f32, bf16, members, false);
      Compiled mixed(c, f32, bf16, members, true);
      std::map<std::string, std::vector<double>> before;
      for (const Slot& slot : full.state().slots()) {
        before[slot.name] = full.content(slot);
      }
      for (Compiled* run : {&full, &plain, &mixed}) run->steps(1);
      for (const Slot& slot : full.state().slots()) {
        if (slot.role != Role::kParameter) continue;
        std::vector<double> wanted = full.content(slot);
        double size = distance(wanted, before[slot.name]) + 1e-6;
        double usual = distance(plain.content(slot), wanted) / size;
        double error = distance(mixed.content(slot), wanted) / size;
        // Gradients that cancel to nothing are rounding, and pools choose
        // among scores that are nearly equal.
        if (usual > 0.5) continue;
        EXPECT_LE(error, 2 * usual + 0.05) << slot.name;
      }
    }
  }
}

// The passes are there at all.
TEST(MixedTypes, ConvolutionNetsHaveTheirChannelsLast) {
  Compiled run(kNarrowCases[1], DType::kFloat32, DType::kBFloat16, 3, true);
  int64_t fusions = 0, turned = 0;
  for (const Node& node : run.graph().nodes()) {
    EXPECT_FALSE(node.is(OpKind::kBatchNorm)) << node.path;
    fusions += node.op->name == "fusion";
    turned += node.is(OpKind::kConvolution) &&
              node.attrs.flag_or("channels_last", false);
  }
  EXPECT_GT(fusions, 0);
  EXPECT_GT(turned, 0);
}

}  // namespace
}  // namespace braid::gpu_runs
