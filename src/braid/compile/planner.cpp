#include "braid/compile/planner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/plan/simulator.h"

namespace braid::compile {
namespace {

constexpr std::string_view kPlanHint =
    "recompute, offload or spill more segments, or leave some open: what is "
    "not named\n  is chosen to fit; a smaller batch_size, accumulate: 2 and "
    "precision: bf16 help too";

// Of the program with the largest arena; the others only add slots.
std::string limit_report(const ProgramSet& set, const Target& target,
                         std::string_view hint = plan::kMemoryHint) {
  if (set.host_bytes > target.host_limit_bytes) {
    return fmt::format(
        "[plan] what is moved to the host takes {}, {} over host_limit "
        "({})\nHINT: raise it, or recompute in place of offloading",
        bytes_text(set.host_bytes),
        bytes_text(set.host_bytes - target.host_limit_bytes),
        bytes_text(target.host_limit_bytes));
  }
  auto largest = std::ranges::max_element(
      set.programs, {},
      [](const plan::Program& program) { return program.peak_bytes(); });
  int64_t others = set.peak_bytes - largest->peak_bytes();
  return plan::limit_report(*largest, target.limit_bytes, others, hint);
}

// A segment of another program under the name by which the plan knows it: its
// own, that of what it is a part of, or of a part of it.
std::optional<size_t> find_segment(const std::vector<std::string>& names,
                                   const std::string& name) {
  auto is_inside = [](const std::string& a, const std::string& b) {
    return a.size() > b.size() && a.starts_with(b) && a[b.size()] == '.';
  };
  auto at = std::ranges::find(names, name);
  if (at == names.end()) {
    at = std::ranges::find_if(names, [&](const std::string& other) {
      return is_inside(name, other) || is_inside(other, name);
    });
  }
  if (at == names.end()) return std::nullopt;
  return static_cast<size_t>(at - names.begin());
}

plan::Decision most_common(const plan::Plan& plan) {
  plan::Decision most;
  int64_t times = 0;
  for (const plan::Decision& d : plan.segments) {
    int64_t count = std::ranges::count(plan.segments, d);
    if (count > times) most = d;
    times = std::max(times, count);
  }
  return most;
}

plan::PartialPlan given_by(const PlanRequest& request,
                           const std::vector<std::string>& segments) {
  if (request.named) return plan::resolve(*request.named, segments);
  plan::PartialPlan given;
  given.segments.resize(segments.size());
  size_t count = request.plan.segments.size();
  if (count == 0) return given;
  if (count != segments.size()) {
    fail_usage("[plan] the model has {} segments, the plan {}", segments.size(),
               count);
  }
  given.depth = request.plan.depth;
  given.order = request.plan.order;
  given.buffer_bytes = request.plan.buffer_bytes;
  for (size_t i = 0; i < count; ++i) {
    given.segments[i] = request.plan.segments[i];
  }
  return given;
}

// Whether inputs of one name have one shape.
bool have_same_rows(const Graph& a, const Graph& b) {
  std::map<std::string_view, const Shape*> shapes;
  for (ValueId id : a.inputs()) {
    shapes[a.value(id).name] = &a.value(id).type.shape;
  }
  return std::ranges::all_of(b.inputs(), [&](ValueId id) {
    auto known = shapes.find(b.value(id).name);
    return known == shapes.end() || *known->second == b.value(id).type.shape;
  });
}

// With the rates of the profile, where it has some.
plan::DeviceInfo measured_device(const Target& target) {
  const plan::DeviceInfo* known = target.profile.device(target.device.id.kind);
  return known ? plan::with_rates(target.device, known->rates) : target.device;
}

bool is_limited(const Target& target) {
  return target.limit_bytes != kNoLimit || target.host_limit_bytes != kNoLimit;
}

}  // namespace

Planner::Planner(const OpTable& ops, const std::vector<StepSpec>& specs,
                 const Target& target, const PlanRequest& request,
                 const PassObserver& observer)
    : ops_(ops),
      target_(target),
      durations_(plan::durations_by(ops, target.device, target.threads,
                                    target.profile)),
      sharing_(plan::sharing_of(measured_device(target))) {
  passes::SegmentRules rules;
  if (request.named) {
    rules = request.named->rules();
    solver_ = request.named->solver;
  }
  for (const StepSpec& spec : specs) {
    steps_.push_back(build_step(ops, spec, target, observer, rules));
  }
  given_ = given_by(request, segments());
  is_open_ = request.fit_to_limit && solver_ != plan::kNoSolver &&
             !given_.is_complete();
}

ProgramSet Planner::programs() const {
  if (!is_open_ || !is_limited(target_)) {
    return with_joint_updates(checked(programs(given_.filled()), kPlanHint));
  }
  PlanChoice choice = choose(choice_options());
  ProgramSet set = checked(programs(choice.plan),
                           plan::memory_hint(target_.host_limit_bytes));
  set.choice = std::move(choice);
  return with_joint_updates(std::move(set));
}

// The same plan with updates of many parameters next to each other, as many as
// hardly any memory pays for.
ProgramSet Planner::with_joint_updates(ProgramSet set) const {
  constexpr int64_t kWaiting[] = {kNoLimit, 16 << 20, 2 << 20};
  constexpr int64_t kShare = 32;  // of the peak that waiting may add
  if (!target_.device.groups_updates) return set;
  int64_t most =
      std::min(set.peak_bytes + set.peak_bytes / kShare, target_.limit_bytes);
  for (int64_t waiting_bytes : kWaiting) {
    ProgramSet joint = programs(set.plan, waiting_bytes);
    bool fits = joint.peak_bytes <= most && !misplaced_slot(joint) &&
                joint.host_bytes <= set.host_bytes;
    if (!fits) continue;
    joint.choice = std::move(set.choice);
    return joint;
  }
  return set;
}

ProgramSet Planner::programs(const plan::Plan& plan) const {
  return programs(plan, 0);
}

ProgramSet Planner::programs(const plan::Plan& plan,
                             int64_t waiting_bytes) const {
  std::vector<plan::Program> programs;
  for (const BuiltStep& built : steps_) {
    programs.push_back(plan::compile(ops_, built.step, followed(plan, built),
                                     target_.workspace, waiting_bytes));
  }
  ProgramSet set = joined_programs(std::move(programs));
  set.plan = plan;
  set.segments = segments();
  predict(set);
  return set;
}

ProgramSet Planner::checked(ProgramSet set, std::string_view hint) const {
  if (auto slot = misplaced_slot(set)) {
    fail_usage("[plan] programs keep '{}' in different places", *slot);
  }
  bool fits = set.peak_bytes <= target_.limit_bytes &&
              set.host_bytes <= target_.host_limit_bytes;
  if (!fits) fail_world("{}", limit_report(set, target_, hint));
  return set;
}

PlanChoice Planner::choose(const ChoiceOptions& options) const {
  auto try_plan = [&](const plan::Plan& plan) -> PlanTrial {
    ProgramSet set = programs(plan);
    if (misplaced_slot(set)) return {.bytes = kNoLimit};
    return {.seconds = set.step_s,
            .bytes = set.peak_bytes,
            .host_bytes = set.host_bytes};
  };
  return choose_plan(
      given_, [&](plan::Order order) { return rows(order); }, options,
      try_plan);
}

ChoiceOptions Planner::choice_options() const {
  // Plans are tried until so many nodes were compiled.
  constexpr int64_t kMostNodes = 2'000'000;
  int64_t nodes = 1;
  for (const BuiltStep& built : steps_) {
    nodes += static_cast<int64_t>(built.step.graph.nodes().size());
  }
  int64_t trials = std::clamp<int64_t>(kMostNodes / nodes, 30, 200);
  ChoiceOptions options{.limit_bytes = target_.limit_bytes,
                        .host_limit_bytes = target_.host_limit_bytes,
                        .most_trials = static_cast<int>(trials)};
  options.has_file = may_use_file();
  options.orders = orders();
  if (!solver_.empty()) options.solve.solver = solver_;
  return options;
}

// A file is slower than host memory, and only of use where that has a limit.
bool Planner::may_use_file() const {
  return target_.has_file && target_.host_limit_bytes != kNoLimit;
}

// Where nodes of all micro-batches are too many, each goes its own way.
std::vector<plan::Order> Planner::orders() const {
  constexpr int64_t kMostNodes = 200'000;
  if (given_.order) return {*given_.order};
  const passes::StepGraph& step = steps_[0].step;
  auto nodes = static_cast<int64_t>(step.graph.nodes().size());
  bool may_unroll =
      step.repeats_micro_part() && nodes <= kMostNodes / step.micro_batches;
  if (!may_unroll) return {plan::Order::kMicroBatches};
  return {std::begin(plan::kOrders), std::end(plan::kOrders)};
}

plan::ProgramRows Planner::rows(plan::Order order) const {
  return plan::program_rows(ops_, steps_[0].step, segments(),
                            {.given = given_,
                             .durations = durations_,
                             .workspace = target_.workspace,
                             .sharing = sharing_,
                             .has_file = may_use_file(),
                             .order = order});
}

// A segment that only another program has does what most of the first do.
plan::Plan Planner::followed(const plan::Plan& plan,
                             const BuiltStep& built) const {
  if (built.segments == segments()) return plan;
  plan::Plan other =
      plan::uniform(built.segments.size(), most_common(plan), plan.depth);
  other.order = plan.order;
  other.buffer_bytes = plan.buffer_bytes;
  for (size_t i = 0; i < built.segments.size(); ++i) {
    auto known = find_segment(segments(), built.segments[i]);
    if (known) other.segments[i] = plan.segments[*known];
  }
  return other;
}

// Of one full step with all its phases; the rest of an epoch, and evaluations,
// are steps of their own.
void Planner::predict(ProgramSet& set) const {
  for (size_t i = 0; i < steps_.size(); ++i) {
    bool learns = !steps_[i].step.gradients.empty();
    bool is_phase =
        learns && have_same_rows(steps_[0].step.graph, steps_[i].step.graph);
    if (i > 0 && !is_phase) continue;
    plan::Prediction step =
        plan::simulate(set.programs[i], durations_, sharing_);
    set.step_s += step.time_s;
    set.compute_s += step.compute_s;
    set.transfer_s += step.transfer_s;
  }
}

}  // namespace braid::compile
