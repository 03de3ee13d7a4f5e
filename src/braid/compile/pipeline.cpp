#include "braid/compile/pipeline.h"

#include <chrono>

#include "braid/base/error.h"
#include "braid/graph/text.h"
#include "braid/graph/verify.h"
#include "braid/passes/array/member_mask.h"
#include "braid/passes/array/partial.h"
#include "braid/passes/rewrite/channels_last.h"
#include "braid/passes/rewrite/epilogues.h"
#include "braid/passes/rewrite/fusion.h"
#include "braid/passes/rewrite/layout.h"
#include "braid/passes/rewrite/precision.h"
#include "braid/passes/rewrite/segments.h"
#include "braid/passes/rewrite/sink_relu.h"
#include "braid/passes/rewrite/split_norms.h"
#include "braid/passes/rewrite/trainable.h"
#include "braid/passes/step/accumulate.h"
#include "braid/passes/step/guard_buffers.h"
#include "braid/passes/step/loss_scale.h"
#include "braid/passes/step/narrow_gradients.h"
#include "braid/plan/lowering_profile.h"

namespace braid::compile {
namespace {

// What a step is built from: forward nodes and, where something learns, one
// number to minimise.
void check_forward(const Graph& forward, bool learns) {
  for (const Node& node : forward.nodes()) {
    if (node.phase == Phase::kForward) continue;
    fail_usage(
        "[model] node '{}' belongs to the {} part\n"
        "HINT: give the forward graph alone; the rest of the step is made "
        "from it",
        node.op->name, phase_name(node.phase));
  }
  ValueId loss = forward.find_output("loss");
  if (loss == kNone && !learns) return;
  if (loss == kNone) {
    fail_usage("[model] the graph has no output 'loss'");
  }
  const Shape& shape = forward.value(loss).type.shape;
  if (num_elements(shape) != 1) {
    fail_usage("[model] the loss must be one number, got shape {}",
               shape_text(shape));
  }
}

// A pass over the forward graph of each part. Nodes that it adds get their
// segments when it is done.
Pass forward_pass(std::string name,
                  const std::function<Graph(Draft&, Graph)>& run,
                  bool marks_segments = true) {
  return {std::move(name), [=](Draft& draft) {
            for (passes::StepGraph& part : draft.parts) {
              part.graph = run(draft, std::move(part.graph));
              if (marks_segments) {
                draft.segments = passes::mark_segments(part.graph, draft.rules);
              }
            }
          }};
}

Graph checked(const Draft& draft, Graph graph) {
  check_forward(graph, draft.spec.learns());
  if (draft.spec.learns()) passes::check_trainable(graph);
  return graph;
}

Graph guarded(const Draft& draft, const Graph& graph) {
  const passes::Optimizer& optimizer = draft.spec.optimizer;
  return passes::guard_buffers(graph, optimizer.hyper.at("skip_nonfinite"),
                               optimizer.scope);
}

// Models that differ in some layers have their segments together.
void join_members(Draft& draft) {
  std::vector<Graph> members;
  for (passes::StepGraph& part : draft.parts) {
    members.push_back(std::move(part.graph));
  }
  Graph joined = passes::array_of(draft.ops, members,
                                  array_options(draft.spec, draft.target));
  draft.segments = passes::mark_segments(joined, draft.rules);
  draft.parts.clear();
  draft.parts.push_back({std::move(joined)});
}

void make_array(Draft& draft) {
  Graph& graph = draft.step().graph;
  graph =
      passes::array(draft.ops, graph, array_options(draft.spec, draft.target));
}

void differentiate(Draft& draft) {
  passes::Gradients gradients =
      passes::differentiate(draft.ops, std::move(draft.step().graph));
  draft.step().graph = std::move(gradients.graph);
  draft.step().gradients = std::move(gradients.of_slot);
}

void accumulate(Draft& draft) {
  passes::StepGraph& step = draft.step();
  step = passes::accumulate(draft.ops,
                            {std::move(step.graph), std::move(step.gradients)},
                            draft.spec.micro_batches);
}

void add_optimizer(Draft& draft) {
  draft.step() = passes::add_optimizer(draft.ops, std::move(draft.step()),
                                       draft.spec.optimizer);
}

// Debug builds look at every graph that a pass makes.
void check_parts([[maybe_unused]] const Draft& draft,
                 [[maybe_unused]] const std::string& pass) {
#ifndef NDEBUG
  try {
    for (const passes::StepGraph& part : draft.parts) verify(part.graph);
  } catch (const std::exception& error) {
    fail_defect("[compile] the pass '{}' left a wrong graph: {}", pass,
                error.what());
  }
#endif
}

std::string text_of(const Draft& draft) {
  std::string text;
  for (const passes::StepGraph& part : draft.parts) {
    text += print_graph(part.graph);
  }
  return text;
}

Draft draft_of(const OpTable& ops, const StepSpec& spec, const Target& target,
               const passes::SegmentRules& rules) {
  Draft draft{.ops = ops, .spec = spec, .target = target, .rules = rules};
  if (spec.members.empty()) {
    draft.parts.push_back({spec.forward});
    return draft;
  }
  if (static_cast<int64_t>(spec.members.size()) != spec.capacity) {
    fail_usage("[programs] expected {} graphs of members, got {}",
               spec.capacity, spec.members.size());
  }
  for (const Graph& member : spec.members) draft.parts.push_back({member});
  return draft;
}

// Those before there is one graph.
void add_forward_passes(const StepSpec& spec, std::vector<Pass>& passes) {
  const passes::Optimizer& optimizer = spec.optimizer;
  passes.push_back(forward_pass("forward", checked));
  if (optimizer.skip_nonfinite) {
    passes.push_back(forward_pass("guard", guarded));
  }
  if (optimizer.scales_loss) {
    passes.push_back(forward_pass("loss_scale", [](Draft& d, Graph graph) {
      return passes::scale_loss(std::move(graph), d.spec.optimizer);
    }));
  }
  if (spec.masked && spec.capacity > 0 && spec.learns()) {
    passes.push_back(forward_pass(
        "mask",
        [](Draft& d, const Graph& g) { return passes::mask_members(d.ops, g); },
        false));
  }
  if (!spec.members.empty()) {
    passes.push_back({"array", join_members});
    return;
  }
  passes.push_back(forward_pass(
      "sink_relu",
      [](Draft&, const Graph& graph) { return passes::sink_relu(graph); },
      false));
  if (spec.capacity > 0) passes.push_back({"array", make_array});
}

}  // namespace

std::vector<Pass> pipeline(const StepSpec& spec, const Target& target) {
  std::vector<Pass> passes;
  add_forward_passes(spec, passes);
  passes.push_back({"precision", [](Draft& d) {
                      d.step().graph = passes::lower_precision(
                          d.ops, d.step().graph,
                          {.compute = d.spec.precision,
                           .mixed = d.target.device.mixes_types});
                    }});
  if (spec.learns()) {
    passes.push_back({"autodiff", differentiate});
    passes.push_back({"accumulate", accumulate});
    passes.push_back({"optimizer", add_optimizer});
  }
  if (target.device.mixes_types) {
    passes.push_back({"split_norms", [](Draft& d) {
                        d.step() = passes::split_norms(d.ops, d.step());
                      }});
  }
  if (target.device.has_epilogues) {
    passes.push_back({"epilogues", [](Draft& d) {
                        d.step() = passes::epilogues(d.step());
                      }});
  }
  if (target.device.wants_channels_last) {
    passes.push_back(
        {"channels_last", [](Draft& d) { passes::channels_last(d.step()); }});
  }
  passes.push_back(
      {"layout", [](Draft& d) { d.step() = passes::layout(d.ops, d.step()); }});
  bool casts_gradients = spec.learns() && spec.precision == DType::kBFloat16;
  if (target.device.narrow_gradients && casts_gradients) {
    passes.push_back({"narrow_gradients", [](Draft& d) {
                        d.step() = passes::narrow_gradients(
                            d.ops, std::move(d.step()));
                      }});
  }
  if (target.device.has_fusion) {
    passes.push_back({"fusion", [](Draft& d) {
                        d.step() = passes::fusion(
                            d.ops, d.step(), {d.target.device.mixes_types});
                      }});
  }
  return passes;
}

const std::vector<std::string>& pass_names() {
  static const std::vector<std::string> names{
      "forward",       "guard",     "loss_scale",       "mask",
      "sink_relu",     "array",     "precision",        "autodiff",
      "accumulate",    "optimizer", "split_norms",      "epilogues",
      "channels_last", "layout",    "narrow_gradients", "fusion",
      kProgramPass};
  return names;
}

BuiltStep build_step(const OpTable& ops, const StepSpec& spec,
                     const Target& target, const PassObserver& observer,
                     const passes::SegmentRules& rules) {
  using Clock = std::chrono::steady_clock;
  Draft draft = draft_of(ops, spec, target, rules);
  for (const Pass& pass : pipeline(spec, target)) {
    Clock::time_point begin = Clock::now();
    pass.run(draft);
    std::chrono::duration<double> took = Clock::now() - begin;
    check_parts(draft, pass.name);
    if (!observer) continue;
    observer({spec, pass.name, took.count(), [&] { return text_of(draft); }});
  }
  return {std::move(draft.step()), std::move(draft.segments)};
}

std::vector<std::string> segment_names(const Graph& forward) {
  Graph copy = forward;
  return passes::mark_segments(copy);
}

passes::ArrayPassOptions array_options(const StepSpec& spec,
                                       const Target& target) {
  return {.members = spec.capacity,
          .shared_inputs = spec.shared_inputs,
          .seconds = plan::lowering_seconds(target.profile, target.device,
                                            target.threads),
          .lowering = target.lowering};
}

}  // namespace braid::compile
