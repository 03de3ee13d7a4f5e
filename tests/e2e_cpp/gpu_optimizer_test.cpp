// Every optimizer on a CUDA device, with each of its switches: twenty steps
// give the CPU's numbers, and recorded steps the bits of plain ones, and of
// those in which every update is a launch of its own.
#include "braid/ops/core/update_kinds.h"
#include "gpu_runs.h"

namespace braid::gpu_runs {
namespace {

// Some parameters are moved in packs of 16 bytes, some are too odd for that.
const models::Sizes kOddSizes{
    {"dropout", 0.1}, {"features", 15}, {"hidden", 33}};

struct Variant {
  std::string name;
  passes::Optimizer optimizer;
};

// Where a gradient is zero but for rounding, a small eps would turn the
// rounding into a whole step; so would the sign that Lion takes, whose steps
// are kept small instead.
passes::Optimizer steady(const UpdateKind& kind) {
  passes::Optimizer o = passes::make_optimizer(kind.name);
  set_option(o, "weight_decay", 0.01);
  if (o.hyper.contains("eps")) set_option(o, "eps", 1e-4);
  if (kind.name == "lion") set_option(o, "lr", 1e-5);
  if (kind.name == "rmsprop") set_option(o, "lr", 1e-3);
  return o;
}

void switch_on(passes::Optimizer& o, const std::string& flag) {
  set_option(o, flag, flag == "momentum" ? 0.9 : 1);
}

// Plain, with each switch alone, and with all of them and all that goes
// around an update.
std::vector<Variant> variants(const UpdateKind& kind) {
  std::vector<Variant> all{{"plain", steady(kind)}};
  passes::Optimizer everything = steady(kind);
  for (const auto& flag : kind.flags) {
    all.push_back({flag.first, steady(kind)});
    switch_on(all.back().optimizer, flag.first);
    switch_on(everything, flag.first);
  }
  set_option(everything, "clip_norm", 1);
  set_option(everything, "clip_value", 0.5);
  set_option(everything, "ema_decay", 0.9);
  set_option(everything, "skip_nonfinite", 1);
  all.push_back({"everything", everything});
  return all;
}

// Members learn at different rates.
void run(Training& training, const TrainerOptions& how, int64_t steps) {
  double rate = how.optimizer.hyper.at("lr");
  for (int64_t m = 0; m < how.members; ++m) {
    training.trainer().set_hyper(m, "lr", rate / static_cast<double>(m + 1));
  }
  training.run(steps);
}

void compare(const Setting& setting, const Variant& variant, int64_t steps,
             Backend& gpu) {
  std::string name = fmt::format("{} {:<10}", text(setting), variant.name);
  SCOPED_TRACE(name);
  TrainerOptions how{.optimizer = variant.optimizer,
                     .members = setting.members};
  TrainerOptions uncaptured = how;
  uncaptured.capture = false;
  runtime::CpuBackend cpu(kernels(), {});
  Training replayed(setting, gpu, how), plain(setting, gpu, uncaptured),
      single(setting, gpu, how), there(setting, cpu, how);
  // Who taps gets each call alone.
  size_t tapped = 0;
  single.trainer().executor().tap_gradients(
      [&](SlotId, std::span<const std::byte>) { ++tapped; });
  for (Training* t : {&replayed, &plain, &single, &there}) run(*t, how, steps);
  EXPECT_GT(tapped, 0u);
  Gap found = gap(replayed, there);
  record(fmt::format("update  {}  max error {:.1e} ({})", name, found.size,
                     found.slot));
  EXPECT_LE(found.size, setting.dtype == DType::kFloat64 ? 1e-11 : 1e-4);
  EXPECT_EQ(differing(replayed, plain), std::vector<std::string>{});
  EXPECT_EQ(differing(replayed, single), std::vector<std::string>{});
}

TEST_F(Gpu, EveryOptimizerGivesTheNumbersOfTheCpu) {
  for (const UpdateKind& kind : update_kinds()) {
    for (const Variant& variant : variants(kind)) {
      for (DType dtype : {DType::kFloat64, DType::kFloat32}) {
        for (int64_t members : {0, 3}) {
          Setting setting{"mlp", dtype, members, kind.name, kOddSizes};
          EXPECT_NO_THROW(compare(setting, variant, 20, gpu()));
        }
      }
    }
  }
}

// More elements than a launch has threads.
TEST_F(Gpu, LargeParametersAreUpdatedWhole) {
  const UpdateKind& kind = *find_update_kind("adam");
  Setting setting{"mlp", DType::kFloat64, 0, kind.name, {{"hidden", 1100}}};
  EXPECT_NO_THROW(compare(setting, variants(kind)[0], 5, gpu()));
}

// More parameters than a launch takes, even ones and odd ones between them.
TEST_F(Gpu, ManyParametersAreUpdatedTogether) {
  const UpdateKind& kind = *find_update_kind("adamw");
  for (int64_t members : {0, 3}) {
    for (int64_t hidden : {32, 33}) {
      Setting setting{
          "mlp",
          DType::kFloat32,
          members,
          kind.name,
          {{"hidden", static_cast<double>(hidden)}, {"layers", 50}}};
      TrainerOptions how{.optimizer = steady(kind), .members = members};
      Training together(setting, gpu(), how), single(setting, gpu(), how);
      single.trainer().executor().tap_gradients(
          [](SlotId, std::span<const std::byte>) {});
      for (Training* t : {&together, &single}) run(*t, how, 5);
      EXPECT_EQ(differing(together, single), std::vector<std::string>{});
    }
  }
}

}  // namespace
}  // namespace braid::gpu_runs
