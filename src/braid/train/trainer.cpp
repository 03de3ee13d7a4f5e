#include "braid/train/trainer.h"

#include <algorithm>
#include <cstring>

#include "braid/base/text.h"
#include "braid/graph/verify.h"
#include "braid/passes/accumulate.h"
#include "braid/passes/array.h"
#include "braid/passes/layout.h"
#include "braid/passes/names.h"
#include "braid/passes/precision.h"
#include "braid/passes/prune.h"
#include "braid/passes/segments.h"

namespace braid::train {
namespace {

using plan::Activations;
using plan::Decision;
using plan::Parameters;
using plan::Update;

// Uniform plans from fastest to smallest, until the solver chooses per
// segment.
std::vector<plan::Plan> ladder(size_t num_segments) {
  const Decision steps[] = {
      {},
      {Activations::kRecompute, Parameters::kResident, Update::kDevice},
      {Activations::kOffload, Parameters::kResident, Update::kDevice},
      {Activations::kRecompute, Parameters::kResident, Update::kHost},
      {Activations::kRecompute, Parameters::kSpilled, Update::kDevice},
      {Activations::kOffload, Parameters::kSpilled, Update::kHost},
      {Activations::kRecompute, Parameters::kSpilled, Update::kHost},
  };
  std::vector<plan::Plan> plans;
  for (const Decision& d : steps) {
    for (int depth : {1, 0}) {
      plans.push_back(plan::uniform(num_segments, d, depth));
    }
  }
  return plans;
}

// What a step is built from: forward nodes and one number to minimise.
void check_forward(const Graph& forward) {
  for (const Node& node : forward.nodes()) {
    if (node.phase == Phase::kForward) continue;
    fail_usage(
        "[model] node '{}' belongs to the {} part\n"
        "HINT: give the forward graph alone; the rest of the step is made "
        "from it",
        node.op, phase_name(node.phase));
  }
  ValueId loss = forward.find_output("loss");
  if (loss == kNone) {
    fail_usage("[model] the graph has no output 'loss'");
  }
  const Shape& shape = forward.value(loss).type.shape;
  if (num_elements(shape) != 1) {
    fail_usage("[model] the loss must be one number, got shape {}",
               shape_text(shape));
  }
}

void check_schedules(const TrainerOptions& options) {
  auto count = static_cast<size_t>(std::max<int64_t>(options.members, 1));
  if (options.schedules.empty()) return;
  if (options.schedules.size() != count) {
    fail_usage("[schedule] expected {} schedules, got {}", count,
               options.schedules.size());
  }
  for (const passes::Schedule& s : options.schedules) passes::validate(s);
}

// Debug builds look at every graph that a pass makes.
void check_pass([[maybe_unused]] const Graph& graph) {
#ifndef NDEBUG
  verify(graph);
#endif
}

}  // namespace

std::vector<std::string> segment_names(const Graph& forward) {
  Graph copy = forward;
  return passes::mark_segments(copy);
}

passes::StepGraph build_step(const OpTable& ops, Graph forward,
                             const TrainerOptions& options) {
  check_forward(forward);
  passes::mark_segments(forward);
  check_pass(forward);
  if (options.members > 0) {
    forward = passes::array(
        ops, forward,
        {.members = options.members, .shared_inputs = options.shared_inputs});
  }
  check_pass(forward);
  forward =
      passes::lower_precision(ops, forward, {.compute = options.precision});
  check_pass(forward);
  passes::Gradients gradients = passes::differentiate(ops, std::move(forward));
  check_pass(gradients.graph);
  passes::StepGraph step =
      passes::accumulate(ops, std::move(gradients), options.micro_batches);
  check_pass(step.graph);
  passes::Optimizer optimizer = options.optimizer;
  optimizer.scheduled = !options.schedules.empty();
  optimizer.plateau =
      std::ranges::any_of(options.schedules, passes::watches_loss);
  step = passes::add_optimizer(ops, std::move(step), optimizer);
  check_pass(step.graph);
  step = passes::layout(ops, step);
  check_pass(step.graph);
  return step;
}

Trainer::Trainer(const OpTable& ops, Graph forward, runtime::Backend& backend,
                 TrainerOptions options)
    : options_(std::move(options)) {
  size_t num_segments = segment_names(forward).size();
  if (!options_.plan.segments.empty() &&
      options_.plan.segments.size() != num_segments) {
    fail_usage("[plan] the model has {} segments, the plan {}", num_segments,
               options_.plan.segments.size());
  }
  check_schedules(options_);
  passes::StepGraph step = build_step(ops, std::move(forward), options_);
  compile(ops, step, num_segments, backend);
  state_ = std::make_unique<runtime::State>(program_->graph.slots(),
                                            program_->slots, backend);
  executor_ = std::make_unique<runtime::Executor>(
      ops, *program_, *state_, backend,
      runtime::ExecutorOptions{options_.threads, options_.capture});
  if (!options_.schedules.empty()) {
    rates_ = std::make_unique<LearningRates>(options_.schedules, *state_);
  }
}

void Trainer::compile(const OpTable& ops, const passes::StepGraph& step,
                      size_t num_segments, runtime::Backend& backend) {
  auto workspace = runtime::measured_workspace(ops, backend, options_.threads);
  int64_t limit = backend.account().room_bytes();
  auto try_plan = [&](const plan::Plan& candidate) {
    plan_ = candidate;
    program_ = std::make_unique<plan::Program>(
        plan::compile(ops, step, candidate, workspace));
    return program_->peak_bytes() <= limit;
  };
  if (!options_.plan.segments.empty() || !options_.fit_to_limit) {
    plan::Plan chosen = options_.plan.segments.empty()
                            ? plan::keep_all(num_segments)
                            : options_.plan;
    if (try_plan(chosen)) return;
    throw std::runtime_error(plan::limit_report(*program_, limit));
  }
  std::string least;
  int64_t least_bytes = 0;
  for (const plan::Plan& candidate : ladder(num_segments)) {
    if (try_plan(candidate)) return;
    if (least.empty() || program_->peak_bytes() < least_bytes) {
      least_bytes = program_->peak_bytes();
      least = plan::limit_report(*program_, limit);
    }
  }
  throw std::runtime_error(least);
}

void Trainer::initialise(const std::vector<int64_t>& seeds) {
  state_->initialise(seeds);
}

void Trainer::set_hyper(int64_t member, const std::string& name, double value) {
  auto write = [&](SlotId slot) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    state_->write_member(slot, member, bytes);
  };
  if (name == "momentum" && value != 0 && !options_.optimizer.has("momentum")) {
    fail_usage("[member] momentum {} needs an optimizer with momentum", value);
  }
  SlotId slot = state_->find(passes::hyper_slot(name));
  if (slot != kNone) return write(slot);
  std::vector<std::string> known;
  bool found = false;
  for (size_t i = 0; i < state_->slots().size(); ++i) {
    const Slot& s = state_->slots()[i];
    if (s.role != Role::kHyper) continue;
    known.push_back(s.name.substr(passes::hyper_slot("").size()));
    if (!passes::is_dropout_rate(s)) continue;
    known.push_back("dropout");
    if (name != "dropout") continue;
    write(static_cast<SlotId>(i));
    found = true;
  }
  if (found) return;
  fail_usage("[member] no value '{}' can be set\nHINT: did you mean '{}'?",
             name, nearest_name(name, known));
}

}  // namespace braid::train
