// Members are independent: each ends as the same job trained alone, wherever
// it lies in the array, whatever becomes of the others.
#include <gtest/gtest.h>

#include <set>

#include "braid/graph/text.h"
#include "kernels.h"
#include "op_table.h"
#include "passes/model_steps.h"
#include "plan/random_plans.h"
#include "train/solo_runs.h"

namespace braid::train {
namespace {

const Workshop& workshop() {
  static const Workshop made(table(), kernels());
  return made;
}

passes::Optimizer optimizer_of(const std::string& kind) {
  passes::Optimizer made = passes::make_optimizer(kind);
  if (kind == "sgd") passes::set_option(made, "momentum", 0.9);
  return made;
}

// Five members that differ in everything that may differ.
std::vector<Member> members_of(const SoloJob& job) {
  std::vector<Member> all;
  bool drops = job.model.find("dropout") != std::string::npos;
  for (int64_t m = 0; m < 5; ++m) {
    auto k = static_cast<double>(m);
    Member member{.seed = 100 + 7 * m, .data_seed = 50 + 3 * m, .hyper = {}};
    bool sgd = job.optimizer.kind == "sgd";
    member.hyper["lr"] = (sgd ? 0.01 : 1e-3) * (1 + k);
    member.hyper["weight_decay"] = 0.01 * k;
    if (drops) member.hyper["dropout"] = 0.1 + 0.15 * k;
    all.push_back(member);
  }
  return all;
}

// Whether two results are the same job: within `tolerance`, or what the
// tensor's response to 8 ulp excuses.
void expect_same(const MemberResult& got, const MemberResult& alone,
                 double tolerance,
                 const std::map<std::string, double>& response = {},
                 double lr = 0) {
  ASSERT_EQ(got.slots.size(), alone.slots.size());
  auto steps = static_cast<double>(alone.losses.size());
  for (const auto& [name, expected] : alone.slots) {
    double moves = response.contains(name) ? response.at(name) : 0;
    if (moves > 0.05) {
      EXPECT_LE(distance(got.slots.at(name), expected), 2 * lr * steps)
          << name << " answers 8 ulp with " << moves;
    } else {
      EXPECT_LE(error_of(got.slots, alone.slots, name),
                std::max(tolerance, 3 * moves))
          << name;
    }
  }
}

using Case = std::tuple<std::string, std::string, DType>;

class Independence : public testing::TestWithParam<Case> {
 protected:
  SoloJob job() const {
    auto [model, kind, dtype] = GetParam();
    return {.model = model, .dtype = dtype, .optimizer = optimizer_of(kind)};
  }
};

TEST_P(Independence, MembersEndAsTheirSoloRuns) {
  SoloJob made = job();
  bool exact = made.dtype == DType::kFloat64;
  std::vector<Member> members = members_of(made);
  std::vector<MemberResult> alone;
  std::vector<std::map<std::string, double>> response(members.size());
  for (size_t m = 0; m < members.size(); ++m) {
    alone.push_back(workshop().train_alone(made, members[m]));
    if (!exact) response[m] = workshop().responses(made, members[m], alone[m]);
  }
  for (size_t count : {1, 2, 3, 5}) {
    std::vector<Member> some(members.begin(), members.begin() + count);
    std::vector<MemberResult> got = workshop().train_array(made, some);
    for (size_t m = 0; m < count; ++m) {
      SCOPED_TRACE(fmt::format("member {} of {}", m, count));
      expect_same(got[m], alone[m], exact ? 1e-9 : 1e-5, response[m],
                  members[m].hyper.at("lr"));
    }
  }
  for (const MemberResult& one : alone) {  // and something was learned
    EXPECT_NE(one.losses.front(), one.losses.back());
  }
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  auto [model, kind, dtype] = info.param;
  return fmt::format("{}_{}_{}", model_name(model), kind, dtype_name(dtype));
}
INSTANTIATE_TEST_SUITE_P(Models, Independence,
                         testing::Combine(testing::ValuesIn(small_models()),
                                          testing::Values("sgd", "adamw"),
                                          testing::Values(DType::kFloat64,
                                                          DType::kFloat32)),
                         case_name);

class ArrayOfFive : public testing::TestWithParam<std::string> {
 protected:
  SoloJob job(const std::string& kind = "adamw") const {
    return {.model = GetParam(), .optimizer = optimizer_of(kind)};
  }
  std::vector<std::string> data_inputs() const {
    if (model_name(GetParam()) == "transformer") return {"tokens", "targets"};
    return {"x", "y"};
  }

  static void expect_bits(const MemberResult& a, const MemberResult& b) {
    EXPECT_EQ(a.losses, b.losses);
    for (const auto& [name, bits] : b.bits) {
      EXPECT_TRUE(a.bits.at(name) == bits) << name << " differs";
    }
  }
};

TEST_P(ArrayOfFive, MembersThatShareAMinibatchEndAsAlone) {
  SoloJob shared = job();
  shared.shared_inputs = data_inputs();
  std::vector<Member> members = members_of(shared);
  for (Member& m : members) m.data_seed = 50;
  std::vector<MemberResult> got = workshop().train_array(shared, members);
  for (size_t m = 0; m < members.size(); ++m) {
    SCOPED_TRACE(m);
    expect_same(got[m], workshop().train_alone(shared, members[m]), 1e-9);
  }
}

TEST_P(ArrayOfFive, ThePlaceInTheArrayDoesNotMatter) {
  SoloJob made = job("sgd");
  std::vector<Member> members = members_of(made), moved;
  const size_t order[] = {3, 0, 4, 1, 2};
  for (size_t m : order) moved.push_back(members[m]);
  std::vector<MemberResult> first = workshop().train_array(made, members);
  std::vector<MemberResult> second = workshop().train_array(made, moved);
  for (size_t place = 0; place < 5; ++place) {
    SCOPED_TRACE(place);
    expect_same(second[place], first[order[place]], 1e-12);
  }
}

// Breaks member 1 and looks at the others.
void break_member(Trainer& trainer, double value) {
  for (size_t i = 0; i < trainer.state().slots().size(); ++i) {
    const Slot& slot = trainer.state().slots()[i];
    if (slot.role != Role::kParameter) continue;
    auto id = static_cast<SlotId>(i);
    auto content = trainer.state().read_member(id, 1);
    std::memcpy(content.data(), &value, sizeof value);
    trainer.state().write_member(id, 1, content);
  }
}

TEST_P(ArrayOfFive, AMemberThatBecomesNanLeavesTheOthersBitwise) {
  for (bool share : {false, true}) {
    SoloJob healthy = job();
    if (share) healthy.shared_inputs = data_inputs();
    std::vector<Member> members = members_of(healthy);
    std::vector<MemberResult> expected =
        workshop().train_array(healthy, members);
    for (double value : {double{NAN}, double{INFINITY}, 1e300}) {
      SoloJob broken = healthy;
      broken.prepare = [value](Trainer& t) { break_member(t, value); };
      std::vector<MemberResult> got = workshop().train_array(broken, members);
      EXPECT_FALSE(std::isfinite(got[1].losses.back())) << value;
      for (size_t m : {0, 2, 3, 4}) {
        SCOPED_TRACE(fmt::format("member {}, {}, shared {}", m, value, share));
        expect_bits(got[m], expected[m]);
      }
    }
  }
}

// Slots of the update: what skipping must not touch.
bool belongs_to_update(const Slot& slot) {
  return slot.role == Role::kParameter || slot.role == Role::kOptimizer ||
         slot.name == passes::kUpdateSlot;
}

TEST_P(ArrayOfFive, ASkippedMemberStaysAsItIs) {
  for (const char* kind : {"sgd", "adamw"}) {
    SoloJob made = job(kind);
    passes::set_option(made.optimizer, "skip_nonfinite", 1);
    std::vector<Member> members = members_of(made);
    std::vector<MemberResult> healthy = workshop().train_array(made, members);
    std::map<std::string, std::vector<std::byte>> before;
    made.before_step = [&](Trainer& trainer, int64_t step) {
      if (step != 2) return;
      break_member(trainer, NAN);
      for (size_t i = 0; i < trainer.state().slots().size(); ++i) {
        const Slot& slot = trainer.state().slots()[i];
        if (!belongs_to_update(slot)) continue;
        before[slot.name] =
            trainer.state().read_member(static_cast<SlotId>(i), 1);
      }
    };
    std::vector<MemberResult> got = workshop().train_array(made, members);
    for (const auto& [name, bits] : before) {
      EXPECT_TRUE(got[1].bits.at(name) == bits) << name << " was changed";
    }
    EXPECT_EQ(got[1].slots.at(passes::kStepSlot)[0], made.steps);
    EXPECT_EQ(got[1].slots.at(passes::kUpdateSlot)[0], 2);
    for (size_t m : {0, 2, 3, 4}) {
      SCOPED_TRACE(m);
      expect_bits(got[m], healthy[m]);
      EXPECT_EQ(got[m].slots.at(passes::kUpdateSlot)[0], made.steps);
    }
  }
}

// Norms below, around and above what gradients have.
TEST_P(ArrayOfFive, ClippingPerMemberEqualsSoloClipping) {
  for (const char* kind : {"sgd", "adamw"}) {
    SoloJob made = job(kind);
    std::vector<Member> members = members_of(made);
    MemberResult unclipped = workshop().train_alone(made, members[0]);
    passes::set_option(made.optimizer, "clip_norm", 1);
    const double norms[] = {0.01, 0.1, 0.5, 1, 1000};
    for (size_t m = 0; m < 5; ++m) members[m].hyper["clip_norm"] = norms[m];
    std::vector<MemberResult> got = workshop().train_array(made, members);
    for (size_t m = 0; m < 5; ++m) {
      SCOPED_TRACE(fmt::format("member {}, {}", m, kind));
      expect_same(got[m], workshop().train_alone(made, members[m]), 1e-9);
    }
    EXPECT_NE(got[0].losses.back(), unclipped.losses.back());
  }
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  return model_name(info.param);
}
INSTANTIATE_TEST_SUITE_P(Models, ArrayOfFive, testing::ValuesIn(small_models()),
                         name_of);

// Two dropout layers over a parameter of ones: outputs are the masks, scaled,
// and gradients are the masks of backward.
const char* kMasks = R"(
  slot "a" f32[4096] parameter constant(1.0)
  slot "b" f32[4096] parameter constant(1.0)
  slot "hyper/one.p" f64[] hyper constant(0.5)
  slot "counter/seed" i64[] counter constant(0.0)
  slot "counter/step" i64[] counter constant(0.0)
  input %0 "/micro" i64[]
  %1: f32[4096] = read "a" @"one"
  %2: f32[4096] = read "b" @"two"
  %3: f64[] = read "hyper/one.p" @"one"
  %4: i64[] = read "counter/seed" @"one"
  %5: i64[] = read "counter/step" @"one"
  %6: f32[4096] = dropout(%1, %3, %4, %5, %0) @"one" rng=0x11
  %7: f32[4096] = dropout(%2, %3, %4, %5, %0) @"two" rng=0x22
  %8: f32[4096] = exp(%6) @"two"
  %9: f32[4096] = mul(%8, %7) @"two"
  %10: f32[] = sum(%9) {dims=[0], keep_dims=false} @"two"
  output "loss" %10
  output "first" %6
  output "second" %7
)";
constexpr size_t kCount = 4096;

using Mask = std::vector<float>;

std::vector<float> floats(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Masks of both layers and their gradients, by member.
struct Masks {
  std::vector<Mask> first, second, gradient;
};

std::vector<Mask> split(const std::vector<float>& all) {
  std::vector<Mask> parts;
  for (size_t at = 0; at < all.size(); at += kCount) {
    parts.emplace_back(all.begin() + static_cast<int64_t>(at),
                       all.begin() + static_cast<int64_t>(at + kCount));
  }
  return parts;
}

// One step per entry, its last micro-batch; lr is 0, so that parameters stay
// ones.
std::vector<Masks> masks_of(const std::vector<int64_t>& seeds, double p,
                            int steps, plan::Plan plan = {},
                            int64_t micro_batches = 1) {
  runtime::CpuBackend backend(kernels(), {});
  TrainerOptions options{.optimizer = passes::make_optimizer("sgd")};
  options.optimizer.hyper["lr"] = 0;
  options.members = seeds.size() > 1 ? static_cast<int64_t>(seeds.size()) : 0;
  options.plan = std::move(plan);
  options.micro_batches = micro_batches;
  Graph graph = parse_graph(std::string("braid-graph 1\n") + kMasks, table());
  Trainer trainer(table(), std::move(graph), backend, options);
  trainer.initialise(seeds);
  for (size_t m = 0; m < seeds.size(); ++m) {
    trainer.set_hyper(static_cast<int64_t>(m), "dropout", p);
  }
  std::vector<Masks> all;
  for (int step = 0; step < steps; ++step) {
    Masks now;
    trainer.executor().tap_gradients(
        [&](SlotId slot, std::span<const std::byte> bytes) {
          if (trainer.state().slots()[static_cast<size_t>(slot)].name == "a") {
            now.gradient = split(floats(bytes));
          }
        });
    trainer.step([](int64_t, ValueId) -> const std::byte* { return nullptr; });
    now.first = split(floats(trainer.executor().output("first")));
    now.second = split(floats(trainer.executor().output("second")));
    all.push_back(std::move(now));
  }
  return all;
}

double share_kept(const Mask& mask) {
  auto kept =
      std::count_if(mask.begin(), mask.end(), [](float v) { return v != 0; });
  return static_cast<double>(kept) / kCount;
}

// Correlation of what two masks keep.
double correlation(const Mask& a, const Mask& b, double p) {
  double sum = 0;
  for (size_t i = 0; i < kCount; ++i) {
    sum += ((a[i] != 0) - (1 - p)) * ((b[i] != 0) - (1 - p));
  }
  return sum / kCount / (p * (1 - p));
}

// Five standard deviations of a mean over all elements.
constexpr double kFiveSigma = 5 / 64.0;

TEST(DropoutMasks, KeepTheirShareAndScale) {
  for (double p : {0.1, 0.5, 0.9}) {
    Mask mask = masks_of({3}, p, 1)[0].first[0];
    EXPECT_NEAR(share_kept(mask), 1 - p, kFiveSigma * std::sqrt(p * (1 - p)));
    for (float v : mask) {
      ASSERT_TRUE(v == 0 || v == static_cast<float>(1 / (1 - p))) << v;
    }
  }
  EXPECT_EQ(share_kept(masks_of({3}, 0, 1)[0].first[0]), 1);
  EXPECT_EQ(share_kept(masks_of({3}, 1, 1)[0].first[0]), 0);
}

TEST(DropoutMasks, MembersStepsAndLayersDrawApart) {
  constexpr double p = 0.5;
  std::vector<Masks> masks = masks_of({3, 4, 5}, p, 3);
  std::vector<Mask> all;
  for (const Masks& step : masks) {
    for (size_t m = 0; m < 3; ++m) {
      all.push_back(step.first[m]);
      all.push_back(step.second[m]);
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = i + 1; k < all.size(); ++k) {
      EXPECT_LT(std::abs(correlation(all[i], all[k], p)), kFiveSigma)
          << i << " and " << k;
    }
  }
}

TEST(DropoutMasks, MicroBatchesDrawApart) {
  Mask first = masks_of({3}, 0.5, 1)[0].first[0];
  Mask second = masks_of({3}, 0.5, 1, {}, 2)[0].first[0];
  Mask third = masks_of({3}, 0.5, 1, {}, 3)[0].first[0];
  EXPECT_LT(std::abs(correlation(first, second, 0.5)), kFiveSigma);
  EXPECT_LT(std::abs(correlation(first, third, 0.5)), kFiveSigma);
  EXPECT_LT(std::abs(correlation(second, third, 0.5)), kFiveSigma);
}

TEST(DropoutMasks, NeighboursAreIndependent) {
  Mask mask = masks_of({3}, 0.5, 1)[0].first[0];
  for (size_t shift : {1, 2, 3, 4, 64}) {
    Mask moved = mask;
    std::rotate(moved.begin(), moved.begin() + static_cast<int64_t>(shift),
                moved.end());
    EXPECT_LT(std::abs(correlation(mask, moved, 0.5)), kFiveSigma) << shift;
  }
}

TEST(DropoutMasks, AreThoseOfTheMemberAloneWhereverItLies) {
  Masks alone = masks_of({4}, 0.3, 2)[1];
  Masks array = masks_of({9, 4, 5}, 0.3, 2)[1];
  EXPECT_EQ(array.first[1], alone.first[0]);
  EXPECT_EQ(array.second[1], alone.second[0]);
  EXPECT_NE(array.first[0], alone.first[0]);
}

// d(sum(exp(first) * second)) / da = exp(first) * second * mask of first.
TEST(DropoutMasks, BackwardIsZeroExactlyWhereForwardIs) {
  Masks masks = masks_of({4, 8}, 0.3, 1)[0];
  for (size_t m = 0; m < 2; ++m) {
    for (size_t i = 0; i < kCount; ++i) {
      bool flows = masks.first[m][i] != 0 && masks.second[m][i] != 0;
      ASSERT_EQ(masks.gradient[m][i] != 0, flows) << i;
    }
  }
}

TEST(DropoutMasks, RecomputationDrawsTheSame) {
  Masks kept = masks_of({4, 8}, 0.3, 2)[1];
  Masks again = masks_of({4, 8}, 0.3, 2,
                         plan::uniform(2, {plan::Activations::kRecompute}))[1];
  EXPECT_EQ(again.first, kept.first);
  EXPECT_EQ(again.second, kept.second);
  EXPECT_EQ(again.gradient, kept.gradient);
}

}  // namespace
}  // namespace braid::train
