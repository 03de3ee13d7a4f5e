// Steps in bf16 on a CUDA device, where channels lie last, norms are split and
// kernels mix types: their gradients are as near to those of f32 as the CPU's.
#include "narrow_cases.h"

namespace braid::gpu_runs {
namespace {

constexpr DType kBF16 = DType::kBFloat16;

using Steps = std::map<std::string, std::vector<double>>;

// What one step of gradient descent takes from each parameter.
Steps step_of(const NarrowCase& c, int64_t members, DType precision,
              Backend& on) {
  Setting setting{c.model, DType::kFloat32, members, "sgd", c.sizes};
  TrainerOptions how{.optimizer = passes::make_optimizer("sgd"),
                     .members = members,
                     .precision = precision};
  set_option(how.optimizer, "lr", 1);
  Training training(setting, on, how);
  auto parameters = [&] {
    Steps found;
    for (size_t i = 0; i < training.state().slots().size(); ++i) {
      const Slot& slot = training.state().slots()[i];
      if (slot.role != Role::kParameter) continue;
      found[slot.name] =
          numbers(training.state().read(static_cast<SlotId>(i)), slot.dtype);
    }
    return found;
  };
  Steps before = parameters();
  training.run(1, make_answers);
  Steps after = parameters();
  for (auto& [name, values] : after) {
    for (size_t i = 0; i < values.size(); ++i) values[i] -= before[name][i];
  }
  return after;
}

double norm(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double d = x[i] - (y.empty() ? 0 : y[i]);
    sum += d * d;
  }
  return std::sqrt(sum);
}

TEST_F(Gpu, GradientsInBf16AreAsNearAsOnTheCpu) {
  runtime::CpuBackend cpu(kernels(), {});
  for (const NarrowCase& c : kNarrowCases) {
    for (int64_t members : {0, 3}) {
      Steps full = step_of(c, members, DType::kFloat32, cpu);
      Steps there = step_of(c, members, kBF16, cpu);
      Steps here = step_of(c, members, kBF16, gpu());
      double worst = 0;
      for (const auto& [name, step] : full) {
        double size = norm(step, {}) + 1e-6;
        double error = norm(here[name], step) / size;
        double usual = norm(there[name], step) / size;
        EXPECT_LE(error, 2 * usual + 0.02)
            << c.model << " B=" << members << " " << name;
        worst = std::max(worst, error);
      }
      record(
          fmt::format("bf16    {:<20} B={} largest relative error of a "
                      "gradient {:.3f}",
                      c.model, members, worst));
    }
  }
}

}  // namespace
}  // namespace braid::gpu_runs
