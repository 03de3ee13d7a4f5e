// `braid inspect`: what a model's training step consists of, as a summary or
// as the graph after one of the passes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/base/text.h"
#include "braid/cli/display/model_words.h"
#include "braid/cli/inputs.h"
#include "braid/cli/output.h"
#include "braid/cli/verbs/compile_jobs.h"
#include "braid/cli/verbs/inspect_array.h"
#include "braid/cli/verbs/inspect_jobs.h"
#include "braid/cli/verbs/inspect_stats.h"
#include "braid/cli/verbs/options.h"
#include "braid/ops/core/foreign.h"
#include "braid/passes/names.h"
#include "braid/plan/analysis.h"
#include "braid/plan/simulator.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/executables.h"
#include "braid/train/job/model_file.h"
#include "braid/train/run/run_words.h"
#include "fmt/ranges.h"

namespace braid::cli {
namespace {

constexpr const char* kWho = "braid inspect";

struct InspectOptions {
  std::vector<std::string> words;  // a model, or job files and values
  std::string model;
  std::string dump_after;
  std::string optimizer = "adamw";
  std::string dtype;
  std::string precision = "f32";
  std::string inputs;  // of a .pt2 file: sizes that it leaves open
  std::string loss, output, target;
  int64_t copies = 0;      // 0: one model, no array
  int64_t accumulate = 1;  // micro-batches
  std::string memory_limit;
  std::string profile;   // of jobs: measured seconds
  bool verbose = false;  // of jobs: a line for each pass
  std::string stats;     // of a run: a pattern of names
  bool json = false;     // of these

  bool is_job() const {
    return model.ends_with(".yaml") || model.ends_with(".yml");
  }
};

// In lines that fit a screen.
std::string passes_in_words() {
  constexpr size_t kWidth = 76;
  std::string text, line;
  for (const std::string& name : compile::pass_names()) {
    if (line.size() + name.size() > kWidth) {
      text += line + ",\n";
      line.clear();
    }
    line += (line.empty() ? "  " : ", ") + name;
  }
  return text + line + "\n";
}

void declare(CLI::App& app, InspectOptions& o) {
  AddOption add(app);
  add("MODEL", o.words, " ", "As 'mlp(hidden=64)', a .pt2, graph or job file");
  add.whole("--copies", o.copies, "B", "As an array of B members");
  add("--dump-after", o.dump_after, "PASS", "Print what a pass leaves");
  add("--optimizer", o.optimizer, "NAME",
      "Of the printed graph or plan (adamw)");
  add.whole("--accumulate", o.accumulate, "M", "Micro-batches (1)");
  add("--dtype", o.dtype, "TYPE", "f32 or f64 (f32)");
  add("--precision", o.precision, "TYPE", "Of the work: f32 or bf16 (f32)");
  add("--inputs", o.inputs, "FILE", "One batch, which tells open sizes");
  add.loss(o.loss, o.output, o.target);
  add("--memory-limit", o.memory_limit, "BYTES",
      "Show the plan that fits: 512MiB, 4GiB");
  add("--profile", o.profile, "FILE", "Of a job: as for 'braid train'");
  app.add_flag("-v,--verbose", o.verbose,
               "Of a job: a hash of what each pass leaves");
  add("--stats", o.stats, "PATTERN",
      "Of a run, as MODEL: weights and gradients");
  app.add_flag("--json", o.json, "What --stats tells as JSON");
  app.footer(fmt::format("{}\n{}\nPasses:\n{}", models_in_words(),
                         optimizers_in_words(), passes_in_words()));
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
  if (!o.dump_after.empty()) check_pass_name("braid inspect", o.dump_after);
  read_limit("--memory-limit", o.memory_limit, kWho);
  if (o.is_job() && !o.memory_limit.empty()) {
    fail_usage("[{}] a job says so itself\nHINT: write memory_limit={}", kWho,
               o.memory_limit);
  }
}

compile::Target target_here() {
  return {.device = plan::cpu_device(machine_cores()),
          .threads = machine_cores()};
}

compile::StepSpec spec_with(const Graph& forward, const InspectOptions& o,
                            const std::string& optimizer) {
  return {.forward = forward,
          .optimizer = passes::make_optimizer(optimizer),
          .micro_batches = o.accumulate,
          .capacity = o.copies,
          .precision = *find_dtype(o.precision)};
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

void print_segments(const OpTable& ops, const Graph& step,
                    const std::vector<std::string>& names) {
  print("segments: {}\n  {:<24} {:>8} {:>9} {:>14} {:>14}\n", names.size(), "",
        "forward", "backward", "parameters", "activations");
  std::vector<plan::SegmentCosts> rows =
      plan::segment_costs(ops, step, plan::analyse(ops, step), names.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    print("  {:<24} {:>8} {:>9} {:>14} {:>14}\n", printable(names[i]),
          rows[i].forward_nodes, rows[i].backward_nodes,
          bytes_text(rows[i].parameter_bytes), bytes_text(rows[i].kept_bytes));
  }
}

void print_peak(const plan::Program& program, const char* optimizer) {
  print("  {:<24} {} bytes ({}): slots {}, step {}\n", optimizer,
        program.peak_bytes(), bytes_text(program.peak_bytes()),
        bytes_text(program.device_slot_bytes()),
        bytes_text(program.arena_bytes));
}

// The plan that a training within the limit would follow. Throws, as that
// would, when there is none.
void print_within(const OpTable& ops, const compile::StepSpec& spec,
                  compile::Target target, int64_t limit_bytes) {
  target.limit_bytes = limit_bytes;
  compile::ProgramSet set = compile::compile_programs(ops, {spec}, target);
  print("within {}, with {}\n", bytes_text(limit_bytes), spec.optimizer.kind);
  print("  peak   {} bytes ({})\n", set.peak_bytes, bytes_text(set.peak_bytes));
  print("  {}\n", train::plan_words(set));
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
  runtime::Executables programs(
      ops,
      {{.forward = model.graph, .optimizer = passes::make_optimizer("sgd")}},
      backend, {});
  programs.state().initialise(std::vector<int64_t>{0});
  if (model.contents) model.contents->apply(programs.state(), 0);
  runtime::Executor& executor = programs.executor(0);
  const plan::Program& program = executor.program();
  ZeroFeed feed(program.graph);
  std::vector<double> seconds;
  for (int step = 0; step < 3; ++step) {
    if (step == 1) executor.time_calls(&seconds);
    executor.step([&](int64_t, ValueId input) { return feed.at(input); });
  }
  double all = 0, foreign = 0;
  for (size_t i = 0; i < seconds.size(); ++i) {
    NodeId node = program.calls[i].node;
    all += seconds[i];
    if (is_foreign(program.graph.node(node))) foreign += seconds[i];
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
  plan::DeviceInfo cpu = plan::cpu_device(machine_cores());
  auto durations = plan::durations_at(ops, cpu.rates);
  return fmt::format("about {:.3g} ms, estimated for {} thread{} of a CPU",
                     plan::simulate(program, durations).time_s * 1000,
                     cpu.cores, cpu.cores == 1 ? "" : "s");
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
  print("model {}{}\n", o.model,
        o.copies > 0 ? fmt::format(", an array of {} members", o.copies) : "");
  runtime::KernelTable kernels = runtime::cpu_kernels();
  runtime::CpuBackend backend(kernels, {});
  compile::Target target = runtime::target_of(ops, backend, machine_cores());
  auto program_with = [&](const char* optimizer) {
    return std::move(compile::compile_programs(
                         ops, {spec_with(forward, o, optimizer)}, target)
                         .programs[0]);
  };
  plan::Program with_sgd = program_with("sgd");
  plan::Program with_adamw = program_with("adamw");
  const Graph& step = with_sgd.graph;
  print_head(ops, step, o, with_sgd, with_adamw);
  print_inputs(step);
  print_slots(step, Role::kParameter, "parameters");
  print_slots(step, Role::kBuffer, "buffers");
  print_segments(ops, step, compile::segment_names(forward));
  print("peak of a step, everything kept\n");
  print_peak(with_sgd, "sgd");
  print_peak(with_adamw, "adamw");
  if (o.copies > 0) {
    print_array(ops, spec_with(forward, o, "sgd"), target_here());
  }
  print_loops(forward);
  print_foreign(ops, model, backend);
  if (auto limit = read_limit("--memory-limit", o.memory_limit, kWho)) {
    print_within(ops, spec_with(forward, o, o.optimizer), target, *limit);
  }
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

// What the pass leaves, of the passes that a training runs.
void print_after(const OpTable& ops, const compile::StepSpec& spec,
                 const std::string& pass) {
  bool is_there = false;
  compile::compile_programs(ops, {spec}, target_here(), {},
                            [&](const compile::PassResult& result) {
                              if (result.pass != pass) return;
                              is_there = true;
                              print("{}", result.text());
                            });
  if (is_there) return;
  fail_usage("[braid inspect] --dump-after: this step has no pass '{}'", pass);
}

int run_inspect(InspectOptions o) {
  if (!o.words.empty()) o.model = o.words[0];
  validate(o);
  if (!o.stats.empty()) {
    inspect_stats({.words = o.words, .pattern = o.stats, .json = o.json});
    return kOk;
  }
  if (o.json) {
    fail_usage("[braid inspect] --json goes with --stats PATTERN");
  }
  if (o.is_job()) {
    inspect_jobs({.words = o.words,
                  .dump_after = o.dump_after,
                  .profile = o.profile,
                  .verbose = o.verbose});
    return kOk;
  }
  if (o.words.size() > 1) {
    fail_usage("[braid inspect] '{}' is one word too much after a model",
               o.words[1]);
  }
  if (o.dump_after == "array") o.copies = std::max<int64_t>(o.copies, 1);
  auto machine = runtime::this_machine();
  const OpTable& ops = machine->ops();
  train::LoadedModel model = load_for(*machine, o);
  if (o.dump_after.empty()) {
    print_summary(ops, model, o);
  } else {
    print_after(ops, spec_with(model.graph, o, o.optimizer), o.dump_after);
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
