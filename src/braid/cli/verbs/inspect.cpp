// `braid inspect`: what a model's training step consists of, as a summary or
// as the graph after one of the passes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/base/text.h"
#include "braid/cli/display/model_words.h"
#include "braid/cli/inputs.h"
#include "braid/cli/output.h"
#include "braid/cli/verbs/inspect_array.h"
#include "braid/cli/verbs/verb.h"
#include "braid/graph/text.h"
#include "braid/ops/core/foreign.h"
#include "braid/passes/array/array.h"
#include "braid/passes/names.h"
#include "braid/passes/rewrite/chains.h"
#include "braid/passes/rewrite/layout.h"
#include "braid/passes/rewrite/pool_first.h"
#include "braid/passes/rewrite/precision.h"
#include "braid/passes/rewrite/segments.h"
#include "braid/passes/step/accumulate.h"
#include "braid/plan/buffers.h"
#include "braid/plan/compile.h"
#include "braid/plan/simulator.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/train/array/array_costs.h"
#include "braid/train/job/model_file.h"
#include "braid/train/trainer.h"
#include "fmt/ranges.h"

namespace braid::cli {
namespace {

struct InspectOptions {
  std::string model;
  std::string dump_after;
  std::string optimizer = "adamw";
  std::string dtype;
  std::string precision = "f32";
  std::string inputs;  // of a .pt2 file: sizes that it leaves open
  std::string loss, output, target;
  int64_t copies = 0;      // 0: one model, no array
  int64_t accumulate = 1;  // micro-batches
};

const std::vector<std::string> kPasses{"forward",  "array",      "precision",
                                       "autodiff", "accumulate", "optimizer",
                                       "layout",   "chains"};

void declare(CLI::App& app, InspectOptions& o) {
  auto add = [&](const char* name, auto& value, const char* type,
                 const char* text) {
    return app.add_option(name, value, text)->type_name(type);
  };
  add("MODEL", o.model, " ", "As 'mlp(hidden=64)', a .pt2 or graph file");
  add("--copies", o.copies, "B", "As an array of B members")
      ->check(check_whole);
  add("--dump-after", o.dump_after, "PASS", "Print the graph after a pass");
  add("--optimizer", o.optimizer, "NAME", "Of the printed graph (adamw)");
  add("--accumulate", o.accumulate, "M", "Micro-batches (1)")
      ->check(check_whole);
  add("--dtype", o.dtype, "TYPE", "f32 or f64 (f32)");
  add("--precision", o.precision, "TYPE", "Of the work: f32 or bf16 (f32)");
  add("--inputs", o.inputs, "FILE", "One batch, which tells open sizes");
  add("--loss", o.loss, "NAME", "Of a .pt2 file that has none");
  add("--output", o.output, "NAME", "What that loss is of (the first)");
  add("--target", o.target, "NAME", "The input that it is compared with");
  app.footer(fmt::format("{}\n{}\nPasses:\n  {}\n", models_in_words(),
                         optimizers_in_words(), fmt::join(kPasses, ", ")));
}

void validate(const InspectOptions& o) {
  if (o.model.empty()) {
    fail_usage(
        "[braid inspect] MODEL is missing: a built-in name or a graph "
        "file\nHINT: see 'braid inspect --help'");
  }
  if (o.copies < 0 || o.copies > 65536) {
    fail_usage("[braid inspect] --copies is from 1 to 65536, not {}", o.copies);
  }
  if (o.accumulate < 1 || o.accumulate > 65536) {
    fail_usage("[braid inspect] --accumulate is from 1 to 65536, not {}",
               o.accumulate);
  }
  if (o.dtype != "" && o.dtype != "f32" && o.dtype != "f64") {
    fail_usage("[braid inspect] --dtype is f32 or f64, not '{}'", o.dtype);
  }
  if (o.precision != "f32" && o.precision != "bf16") {
    fail_usage("[braid inspect] --precision is f32 or bf16, not '{}'",
               o.precision);
  }
  if (o.loss.empty() != o.target.empty()) {
    fail_usage("[braid inspect] --loss and --target go together");
  }
  if (!o.loss.empty() && o.inputs.empty()) {
    fail_usage("[braid inspect] --loss needs --inputs, which has the target");
  }
  if (!o.dump_after.empty() &&
      std::ranges::find(kPasses, o.dump_after) == kPasses.end()) {
    fail_usage(
        "[braid inspect] --dump-after: there is no pass '{}'\n"
        "HINT: did you mean '{}'?",
        o.dump_after, nearest_name(o.dump_after, kPasses));
  }
}

int all_threads() {
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

// The passes of train::build_step, left after the one that is wanted.
Graph graph_after(const OpTable& ops, Graph graph, const InspectOptions& o) {
  passes::mark_segments(graph);
  if (o.dump_after == "forward") return graph;
  graph = passes::pool_first(graph);
  if (o.copies > 0) {
    graph = passes::array(
        ops, graph,
        train::array_options({.members = o.copies, .threads = all_threads()}));
  }
  if (o.dump_after == "array") return graph;
  graph = passes::lower_precision(ops, graph,
                                  {.compute = *find_dtype(o.precision)});
  if (o.dump_after == "precision") return graph;
  passes::Gradients gradients = passes::differentiate(ops, std::move(graph));
  if (o.dump_after == "autodiff") return std::move(gradients.graph);
  passes::StepGraph step =
      passes::accumulate(ops, std::move(gradients), o.accumulate);
  if (o.dump_after == "accumulate") return std::move(step.graph);
  step = passes::add_optimizer(ops, std::move(step),
                               passes::make_optimizer(o.optimizer));
  if (o.dump_after == "optimizer") return std::move(step.graph);
  step = passes::layout(ops, step);
  if (o.dump_after == "layout") return std::move(step.graph);
  return passes::chains(ops, step).graph;
}

passes::StepGraph step_with(const OpTable& ops, const Graph& forward,
                            const InspectOptions& o, const char* optimizer) {
  return train::build_step(ops, forward,
                           {.optimizer = passes::make_optimizer(optimizer),
                            .members = o.copies,
                            .micro_batches = o.accumulate,
                            .precision = *find_dtype(o.precision),
                            .threads = all_threads()});
}

void print_inputs(const Graph& graph) {
  print("inputs\n");
  for (ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    if (value.name == passes::kMicroInput) continue;
    print("  {:<24} {}{}\n", printable(value.name),
          dtype_name(value.type.dtype), shape_text(value.type.shape));
  }
}

void print_slots(const Graph& graph, Role role, const char* title) {
  int64_t elements = 0, bytes = 0, count = 0;
  for (const Slot& slot : graph.slots()) {
    if (slot.role != role) continue;
    elements += num_elements(slot.stored_shape());
    bytes += slot.bytes();
    ++count;
  }
  if (count == 0) return;
  print("{}: {} tensors, {} elements, {}\n", title, count, elements,
        bytes_text(bytes));
  for (const Slot& slot : graph.slots()) {
    if (slot.role != role) continue;
    print("  {:<24} {}{}\n", printable(slot.name), dtype_name(slot.dtype),
          shape_text(slot.stored_shape()));
  }
}

struct SegmentRow {
  int64_t forward = 0, backward = 0;  // nodes
  int64_t parameter_bytes = 0;
  int64_t kept_bytes = 0;  // activations that backward reads
};

std::vector<SegmentRow> segment_rows(const OpTable& ops, const Graph& graph,
                                     size_t count) {
  std::vector<SegmentRow> rows(count);
  auto row = [&](const Node& node) -> SegmentRow* {
    auto at = static_cast<size_t>(node.segment);
    return node.segment >= 0 && at < rows.size() ? &rows[at] : nullptr;
  };
  std::set<SlotId> seen;
  for (const Node& node : graph.nodes()) {
    SegmentRow* r = row(node);
    if (!r || node.phase == Phase::kUpdate) continue;
    if (node.is(OpKind::kRead)) {
      const Slot& slot = graph.slot(node.slot);
      bool fresh =
          slot.role == Role::kParameter && seen.insert(node.slot).second;
      if (fresh) r->parameter_bytes += slot.bytes();
      continue;
    }
    ++(node.phase == Phase::kForward ? r->forward : r->backward);
  }
  plan::Buffers buffers = plan::find_buffers(ops, graph);
  for (const plan::Buffer& buffer : buffers.all) {
    if (buffer.slot != kNone || buffer.writers.empty()) continue;
    const Node& maker = graph.node(buffer.writers[0]);
    auto in_backward = [&](NodeId id) {
      return graph.node(id).phase == Phase::kBackward;
    };
    if (maker.phase != Phase::kForward || !row(maker)) continue;
    if (std::ranges::any_of(buffer.users, in_backward)) {
      row(maker)->kept_bytes += buffer.bytes;
    }
  }
  return rows;
}

void print_segments(const OpTable& ops, const Graph& step,
                    const std::vector<std::string>& names) {
  print("segments: {}\n  {:<24} {:>8} {:>9} {:>14} {:>14}\n", names.size(), "",
        "forward", "backward", "parameters", "activations");
  std::vector<SegmentRow> rows = segment_rows(ops, step, names.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    print("  {:<24} {:>8} {:>9} {:>14} {:>14}\n", printable(names[i]),
          rows[i].forward, rows[i].backward,
          bytes_text(rows[i].parameter_bytes), bytes_text(rows[i].kept_bytes));
  }
}

plan::Program compile_step(const OpTable& ops, const passes::StepGraph& step,
                           runtime::Backend& backend) {
  auto workspace = runtime::measured_workspace(ops, backend, all_threads());
  return plan::compile(ops, step, {}, workspace);
}

void print_peak(const plan::Program& program, const char* optimizer) {
  print("  {:<24} {} bytes ({}): slots {}, step {}\n", optimizer,
        program.peak_bytes(), bytes_text(program.peak_bytes()),
        bytes_text(program.device_slot_bytes()),
        bytes_text(program.arena_bytes));
}

// Inputs of zeros, which are valid indices too.
class ZeroFeed {
 public:
  explicit ZeroFeed(const Graph& graph) : bytes_(graph.values().size()) {
    for (ValueId id : graph.inputs()) {
      const ValueType& type = graph.value(id).type;
      bytes_[static_cast<size_t>(id)].resize(static_cast<size_t>(
          num_elements(type.shape) * item_bytes(type.dtype)));
    }
  }
  const std::byte* at(ValueId input) const {
    return bytes_[static_cast<size_t>(input)].data();
  }

 private:
  std::vector<std::vector<std::byte>> bytes_;
};

// Ops that an array runs once per member.
void print_loops(const Graph& forward) {
  std::set<std::string> loops;
  for (const Node& node : forward.nodes()) {
    if (node.op->array_rule == ArrayRule::kLoop) loops.insert(node.op->name);
  }
  std::string list = loops.empty() ? "none" : "";
  for (const std::string& op : loops) list += (list.empty() ? "" : ", ") + op;
  print("ops that an array loops over members: {}\n", list);
}

// Operators that libtorch runs, and their share of the time of a step on
// inputs of zeros.
void print_foreign(const OpTable& ops, const train::LoadedModel& model,
                   runtime::Backend& backend) {
  std::map<std::string, int> targets;
  for (const Node& node : model.graph.nodes()) {
    if (is_foreign(node)) ++targets[node.attrs.text("target")];
  }
  if (targets.empty()) return print("ops run by libtorch: none\n");
  std::string list;
  for (const auto& [target, count] : targets) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", count, target);
  }
  train::Trainer trainer(ops, model.graph, backend,
                         {.optimizer = passes::make_optimizer("sgd")});
  trainer.initialise({0});
  if (model.contents) model.contents->apply(trainer.state(), 0);
  ZeroFeed feed(trainer.graph());
  std::vector<double> seconds;
  for (int step = 0; step < 3; ++step) {
    if (step == 1) trainer.executor().time_calls(&seconds);
    trainer.step([&](int64_t, ValueId input) { return feed.at(input); });
  }
  double all = 0, foreign = 0;
  for (size_t i = 0; i < seconds.size(); ++i) {
    NodeId node = trainer.program().calls[i].node;
    all += seconds[i];
    if (is_foreign(trainer.graph().node(node))) foreign += seconds[i];
  }
  print("ops run by libtorch: {}; {:.0f} % of the time of a step\n", list,
        100 * foreign / std::max(all, 1e-9));
}

// "12.3 GFLOP"
std::string flops_text(double flops) {
  constexpr std::array<const char*, 5> kUnits = {"", "K", "M", "G", "T"};
  size_t unit = 0;
  while (flops >= 1000 && unit + 1 < kUnits.size()) {
    flops /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}FLOP", flops, kUnits[unit]);
}

double flops_of(const OpTable& ops, const Graph& graph, Phase phase) {
  double flops = 0;
  for (const Node& node : graph.nodes()) {
    if (node.phase == phase) flops += ops.cost(graph, node).flops;
  }
  return flops;
}

// By what each call computes and moves.
std::string time_text(const OpTable& ops, const plan::Program& program) {
  auto durations = plan::durations_at(ops, train::cpu_rates(all_threads()));
  return fmt::format("about {:.3g} ms, estimated for {} thread{} of a CPU",
                     plan::simulate(program, durations).time_s * 1000,
                     all_threads(), all_threads() == 1 ? "" : "s");
}

// What most people want to know, before the lists.
void print_head(const OpTable& ops, const Graph& step, const InspectOptions& o,
                const plan::Program& sgd, const plan::Program& adamw) {
  int64_t elements = 0, bytes = 0;
  for (const Slot& slot : step.slots()) {
    if (slot.role != Role::kParameter) continue;
    elements += num_elements(slot.stored_shape());
    bytes += slot.bytes();
  }
  auto times = static_cast<double>(o.accumulate);
  double forward = times * flops_of(ops, step, Phase::kForward);
  double backward = times * flops_of(ops, step, Phase::kBackward);
  double update = flops_of(ops, step, Phase::kUpdate);
  print("summary, of one step\n");
  print("  {:<11} {}, {}\n", "parameters", grouped(elements),
        bytes_text(bytes));
  print("  {:<11} {}, {} of it forward\n", "work",
        flops_text(forward + backward + update), flops_text(forward));
  print("  {:<11} {} with adamw, {} with sgd\n", "peak",
        bytes_text(adamw.peak_bytes()), bytes_text(sgd.peak_bytes()));
  print("  {:<11} {}\n", "time", time_text(ops, sgd));
}

void print_summary(const OpTable& ops, const train::LoadedModel& model,
                   const InspectOptions& o) {
  const Graph& forward = model.graph;
  passes::StepGraph sgd = step_with(ops, forward, o, "sgd");
  passes::StepGraph adamw = step_with(ops, forward, o, "adamw");
  print("model {}{}\n", o.model,
        o.copies > 0 ? fmt::format(", an array of {} members", o.copies) : "");
  runtime::KernelTable kernels = runtime::cpu_kernels();
  runtime::CpuBackend backend(kernels, {});
  plan::Program with_sgd = compile_step(ops, sgd, backend);
  plan::Program with_adamw = compile_step(ops, adamw, backend);
  print_head(ops, sgd.graph, o, with_sgd, with_adamw);
  print_inputs(sgd.graph);
  print_slots(sgd.graph, Role::kParameter, "parameters");
  print_slots(sgd.graph, Role::kBuffer, "buffers");
  print_segments(ops, sgd.graph, train::segment_names(forward));
  print("peak of a step, everything kept\n");
  print_peak(with_sgd, "sgd");
  print_peak(with_adamw, "adamw");
  if (o.copies > 0) print_array(ops, forward, o.copies, all_threads());
  print_loops(forward);
  print_foreign(ops, model, backend);
}

train::LoadedModel load_for(const runtime::Machine& machine,
                            const InspectOptions& o) {
  train::ModelHints hints{.dtype = find_dtype(o.dtype)};
  if (!o.inputs.empty()) {
    hints.inputs = input_types(io::SafetensorsFile::open(o.inputs), 1);
  }
  if (!o.loss.empty()) {
    hints.loss = io::pt2::NamedLoss{o.loss, o.output, o.target};
  }
  return train::load_model(machine, o.model, hints);
}

int run_inspect(InspectOptions o) {
  validate(o);
  if (o.dump_after == "array") o.copies = std::max<int64_t>(o.copies, 1);
  auto machine = runtime::this_machine();
  const OpTable& ops = machine->ops();
  train::LoadedModel model = load_for(*machine, o);
  if (o.dump_after.empty()) {
    print_summary(ops, model, o);
  } else {
    print("{}", print_graph(graph_after(ops, std::move(model.graph), o)));
  }
  return kOk;
}

}  // namespace

Action add_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  declare(app, *options);
  return [options] { return run_inspect(*options); };
}

}  // namespace braid::cli
