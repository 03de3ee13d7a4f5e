#include "braid/train/programs.h"

#include <algorithm>
#include <map>

#include "braid/base/error.h"
#include "braid/graph/verify.h"
#include "braid/passes/array/array.h"
#include "braid/passes/array/member_mask.h"
#include "braid/passes/array/partial.h"
#include "braid/passes/rewrite/chains.h"
#include "braid/passes/rewrite/layout.h"
#include "braid/passes/rewrite/pool_first.h"
#include "braid/passes/rewrite/precision.h"
#include "braid/passes/rewrite/segments.h"
#include "braid/passes/rewrite/trainable.h"
#include "braid/passes/step/accumulate.h"
#include "braid/passes/step/guard_buffers.h"
#include "braid/passes/step/loss_scale.h"
#include "braid/plan/lowering_profile.h"

namespace braid::train {
namespace {

using plan::Activations;
using plan::Decision;
using plan::Parameters;
using plan::Update;

// Uniform decisions from fastest to smallest, until the solver chooses per
// segment.
struct Rung {
  Decision decision;
  int depth;  // of prefetching
};

std::vector<Rung> ladder() {
  const Decision steps[] = {
      {},
      {Activations::kRecompute, Parameters::kResident, Update::kDevice},
      {Activations::kOffload, Parameters::kResident, Update::kDevice},
      {Activations::kRecompute, Parameters::kResident, Update::kHost},
      {Activations::kRecompute, Parameters::kSpilled, Update::kDevice},
      {Activations::kOffload, Parameters::kSpilled, Update::kHost},
      {Activations::kRecompute, Parameters::kSpilled, Update::kHost},
  };
  std::vector<Rung> rungs;
  for (const Decision& d : steps) {
    for (int depth : {1, 0}) rungs.push_back({d, depth});
  }
  return rungs;
}

// What a step is built from: forward nodes and one number to minimise.
void check_forward(const Graph& forward) {
  for (const Node& node : forward.nodes()) {
    if (node.phase == Phase::kForward) continue;
    fail_usage(
        "[model] node '{}' belongs to the {} part\n"
        "HINT: give the forward graph alone; the rest of the step is made "
        "from it",
        node.op->name, phase_name(node.phase));
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

// Debug builds look at every graph that a pass makes.
void check_pass([[maybe_unused]] const Graph& graph) {
#ifndef NDEBUG
  verify(graph);
#endif
}

passes::StepGraph add_backward(const OpTable& ops, Graph forward,
                               const ProgramSource& source) {
  passes::Gradients gradients = passes::differentiate(ops, std::move(forward));
  check_pass(gradients.graph);
  passes::StepGraph step =
      passes::accumulate(ops, std::move(gradients), source.micro_batches);
  check_pass(step.graph);
  passes::Optimizer optimizer = source.optimizer;
  optimizer.scheduled = source.scheduled;
  optimizer.plateau = source.watches_loss;
  step = passes::add_optimizer(ops, std::move(step), optimizer);
  check_pass(step.graph);
  return step;
}

// Programs agree about a slot when they could be one program's.
void check_same(const Slot& a, const Slot& b) {
  bool same = a.dtype == b.dtype && a.shape == b.shape && a.role == b.role &&
              a.members == b.members && a.init == b.init &&
              a.owners == b.owners && a.inits == b.inits &&
              a.content == b.content;
  if (same) return;
  fail_usage("[programs] slot '{}' is {}{} in one and {}{} in another", a.name,
             dtype_name(a.dtype), shape_text(a.shape), dtype_name(b.dtype),
             shape_text(b.shape));
}

bool writes(const plan::Program& program, SlotId slot) {
  return std::ranges::any_of(program.graph.nodes(), [&](const Node& node) {
    return node.slot == slot && !node.is(OpKind::kRead);
  });
}

// One model's part, before it becomes an array.
Graph prepared(const OpTable& ops, Graph forward, const ProgramSource& source,
               const ProgramOptions& options) {
  check_forward(forward);
  if (source.learns()) passes::check_trainable(forward);
  const passes::Optimizer& optimizer = source.optimizer;
  if (optimizer.skip_nonfinite) {
    forward = passes::guard_buffers(
        forward, optimizer.hyper.at("skip_nonfinite"), optimizer.scope);
  }
  if (optimizer.scales_loss) {
    forward = passes::scale_loss(std::move(forward), optimizer);
  }
  passes::mark_segments(forward);
  check_pass(forward);
  if (options.members > 0 && options.masked && source.learns()) {
    forward = passes::mask_members(ops, forward);
  }
  return forward;
}

// Models that differ in some layers; they have their segments together.
Graph joined_members(const OpTable& ops, const ProgramSource& source,
                     const ProgramOptions& options,
                     const passes::ArrayOptions& array) {
  if (static_cast<int64_t>(source.members.size()) != options.members) {
    fail_usage("[programs] expected {} graphs of members, got {}",
               options.members, source.members.size());
  }
  std::vector<Graph> members;
  for (const Graph& member : source.members) {
    members.push_back(prepared(ops, member, source, options));
  }
  Graph forward = passes::array_of(ops, members, array);
  passes::mark_segments(forward);
  return forward;
}

Graph joined(const OpTable& ops, const ProgramSource& source,
             const ProgramOptions& options) {
  passes::ArrayOptions array = array_options(options);
  array.shared_inputs.insert(array.shared_inputs.end(),
                             source.shared_inputs.begin(),
                             source.shared_inputs.end());
  if (!source.members.empty()) {
    return joined_members(ops, source, options, array);
  }
  Graph forward =
      passes::pool_first(prepared(ops, source.forward, source, options));
  check_pass(forward);
  return options.members > 0 ? passes::array(ops, forward, array) : forward;
}

// Only CPUs have a kernel for chains.
bool has_chains(const std::string& device) { return device.starts_with("cpu"); }

}  // namespace

std::vector<std::string> segment_names(const Graph& forward) {
  Graph copy = forward;
  return passes::mark_segments(copy);
}

std::vector<std::string> segment_names(const OpTable& ops,
                                       const ProgramSource& source) {
  if (source.members.empty()) return segment_names(source.forward);
  return segment_names(passes::array_of(ops, source.members, {}));
}

passes::ArrayOptions array_options(const ProgramOptions& options) {
  return {.members = options.members,
          .shared_inputs = options.shared_inputs,
          .seconds = plan::lowering_seconds(options.profile, options.device,
                                            options.threads),
          .lowering = options.lowering};
}

passes::StepGraph build_step(const OpTable& ops, const ProgramSource& source,
                             const ProgramOptions& options) {
  Graph forward = joined(ops, source, options);
  check_pass(forward);
  forward =
      passes::lower_precision(ops, forward, {.compute = options.precision});
  check_pass(forward);
  passes::StepGraph step = source.learns()
                               ? add_backward(ops, std::move(forward), source)
                               : passes::StepGraph{std::move(forward)};
  step = passes::layout(ops, step);
  check_pass(step.graph);
  if (has_chains(options.device)) {
    step = passes::chains(ops, step);
    check_pass(step.graph);
  }
  return step;
}

Programs::Programs(const OpTable& ops,
                   const std::vector<ProgramSource>& sources,
                   runtime::Backend& backend, ProgramOptions options)
    : options_(std::move(options)) {
  options_.device = backend.name();
  compile(ops, sources, backend);
  state_ = std::make_unique<runtime::State>(slots_, places_, backend);
  auto arena = std::make_shared<runtime::Arena>(backend, arena_bytes_,
                                                host_arena_bytes_);
  for (const auto& program : programs_) {
    executors_.push_back(std::make_unique<runtime::Executor>(
        ops, *program, *state_, backend,
        runtime::ExecutorOptions{options_.threads, options_.capture, arena}));
  }
}

void Programs::compile(const OpTable& ops,
                       const std::vector<ProgramSource>& sources,
                       runtime::Backend& backend) {
  std::vector<passes::StepGraph> steps;
  std::vector<size_t> segments;
  for (const ProgramSource& source : sources) {
    segments.push_back(segment_names(ops, source).size());
    steps.push_back(build_step(ops, source, options_));
  }
  if (!options_.plan.segments.empty() &&
      options_.plan.segments.size() != segments[0]) {
    fail_usage("[plan] the model has {} segments, the plan {}", segments[0],
               options_.plan.segments.size());
  }
  int64_t limit = backend.account().room_bytes();
  auto try_plans = [&](const std::vector<plan::Plan>& plans) {
    compile_all(ops, steps, plans, backend);
    plan_ = plans[0];
    return peak_bytes_ <= limit;
  };
  auto all = [&](auto&& make) {
    std::vector<plan::Plan> plans;
    for (size_t count : segments) plans.push_back(make(count));
    return plans;
  };
  if (!options_.plan.segments.empty() || !options_.fit_to_limit) {
    bool fits = try_plans(all([&](size_t count) {
      return options_.plan.segments.size() == count ? options_.plan
                                                    : plan::keep_all(count);
    }));
    if (fits) return;
    throw std::runtime_error(report(limit));
  }
  std::string least;
  int64_t least_bytes = 0;
  for (const Rung& rung : ladder()) {
    bool fits = try_plans(all([&](size_t count) {
      return plan::uniform(count, rung.decision, rung.depth);
    }));
    if (fits) return;
    if (least.empty() || peak_bytes_ < least_bytes) {
      least_bytes = peak_bytes_;
      least = report(limit);
    }
  }
  throw std::runtime_error(least);
}

void Programs::compile_all(const OpTable& ops,
                           const std::vector<passes::StepGraph>& steps,
                           const std::vector<plan::Plan>& plans,
                           runtime::Backend& backend) {
  auto workspace = runtime::measured_workspace(ops, backend, options_.threads);
  programs_.clear();
  for (size_t i = 0; i < steps.size(); ++i) {
    programs_.push_back(std::make_unique<plan::Program>(
        plan::compile(ops, steps[i], plans[i], workspace)));
  }
  merge_slots();
}

// Slots of all programs, and what they take together with the largest arena.
void Programs::merge_slots() {
  slots_.clear();
  places_.clear();
  arena_bytes_ = host_arena_bytes_ = 0;
  std::map<std::string, size_t> known;
  for (const auto& program : programs_) {
    arena_bytes_ = std::max(arena_bytes_, program->arena_bytes);
    host_arena_bytes_ = std::max(host_arena_bytes_, program->host_arena_bytes);
    for (size_t i = 0; i < program->graph.slots().size(); ++i) {
      const Slot& slot = program->graph.slots()[i];
      auto [entry, is_new] = known.emplace(slot.name, slots_.size());
      if (is_new) {
        slots_.push_back(slot);
        places_.push_back(program->slots[i]);
        continue;
      }
      check_same(slots_[entry->second], slot);
      plan::SlotPlace& place = places_[entry->second];
      place.device = place.device || program->slots[i].device;
      place.host = place.host || program->slots[i].host;
    }
  }
  peak_bytes_ = arena_bytes_;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (places_[i].device) peak_bytes_ += plan::slot_bytes(slots_[i]);
  }
  // A slot that lies twice is written by programs that know both places.
  for (const auto& program : programs_) {
    for (size_t i = 0; i < program->graph.slots().size(); ++i) {
      plan::SlotPlace here = program->slots[i];
      plan::SlotPlace all = places_[known.at(program->graph.slots()[i].name)];
      bool same = here.device == all.device && here.host == all.host;
      if (same || !writes(*program, static_cast<SlotId>(i))) continue;
      fail_usage("[plan] programs keep '{}' in different places",
                 program->graph.slots()[i].name);
    }
  }
}

// Of the program with the largest arena; the others only add slots.
std::string Programs::report(int64_t limit_bytes) const {
  auto largest = std::ranges::max_element(
      programs_, {}, [](const auto& program) { return program->peak_bytes(); });
  int64_t others = peak_bytes_ - (*largest)->peak_bytes();
  return plan::limit_report(**largest, limit_bytes - others);
}

}  // namespace braid::train
