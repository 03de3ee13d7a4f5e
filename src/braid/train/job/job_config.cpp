#include "braid/train/job/job_config.h"

#include "braid/config/reader.h"
#include "braid/config/writer.h"
#include "braid/plan/named_plan.h"
#include "braid/plan/solve/solve.h"

namespace braid::train {
namespace {

// Zoo names have no folders, and points only in their sizes.
bool is_path(std::string_view model) {
  bool has_point = model.substr(0, model.find('(')).find('.') != model.npos;
  return has_point || model.find('/') != model.npos;
}

// Beyond these, products of sizes would not fit, or nothing would ever end.
constexpr double kMostRows = 1e9, kMostEpochs = 1e9, kMostSteps = 1e15;
constexpr double kMostThreads = 1024;

constexpr config::CallForm kModelForm{"name", is_path};
constexpr config::CallForm kKindForm{"kind"};

}  // namespace

using config::Section;

void describe(Section& s, SplitConfig& c) {
  s.bare("eval");
  s.number("eval", c.eval,
           "Share of the samples to evaluate on, or from 2 on their number")
      .above(0);
  s.whole("seed", c.seed, "Which ones; nothing else depends on it").min(0);
}

void describe(Section& s, DataConfig& c) {
  s.bare("source");
  s.text("source", c.source, "Where samples come from: docs/data.md");
  s.flag("shuffle", c.shuffle, "A new order in every epoch");
  s.whole("shuffle_block", c.shuffle_block,
          "Neighbours that are read together, for data larger than memory: "
          "blocks come in a random order, and samples are mixed within a "
          "window of blocks; absent: all samples with each other")
      .min(1);
  s.whole("shuffle_window", c.shuffle_window, "Blocks of a window; absent: 16")
      .min(1);
  s.whole("order_seed", c.order_seed,
          "Of the order and of random changes; absent: the job's seed")
      .min(0);
  s.flag("allow_nan", c.allow_nan,
         "NaN and infinity among the numbers are no mistake");
  s.choice("on_change", c.on_change, {"warn", "refuse"},
           "What a resumed run does when the data are not as they were");
  s.section("split", c.split,
            "Samples held back from training to evaluate on; absent: none");
  s.options("augment", c.augment, "OPTION", "Changes of images: docs/data.md");
  s.rest(c.options, "OPTION", "Option of the source: docs/data.md");
}

void describe(Section& s, OptimizerConfig& c) {
  s.bare("kind");
  s.text("kind", c.kind, "adamw, adam, sgd, ...: braid step --help");
  s.rest(c.values, "VALUE", "Value of the kind: lr, weight_decay, betas, ...");
}

void describe(Section& s, GroupConfig& c) {
  s.text("pattern", c.pattern, "Names of parameters: '*.bias'");
  s.rest(c.values, "VALUE", "Value of the optimizer for them");
}

void describe(Section& s, ClipConfig& c) {
  s.bare("norm");
  s.number("norm", c.norm, "Largest norm of all gradients together").above(0);
  s.number("value", c.value, "Largest size of each element").above(0);
}

void describe(Section& s, InitConfig& c) {
  s.bare("file");
  s.path("file", c.file, "safetensors with parameters to begin with");
  s.path("run", c.run, "Folder of a run whose weights to begin with");
  s.whole("step", c.step, "Of that run: which checkpoint; absent: the newest")
      .min(0);
  s.flag("best", c.best, "Of that run: the checkpoint of the best evaluation");
  s.flag("optimizer", c.optimizer,
         "Of that run: momenta, averages and the number of updates too");
  s.choice("from", c.from, {"auto", "file", "seed"},
           "Of a .pt2 file: its weights, or weights drawn as its module draws "
           "them; auto: those of the file for seed 0, else drawn");
  s.texts("missing", c.missing,
          "Patterns of names that the file may lack: ['head.*']");
  s.texts("reshaped", c.reshaped,
          "Patterns of names that the file may have in another shape");
  s.texts("extra", c.extra,
          "Patterns of names of the file that the model need not have");
  s.texts_by_name("rename", c.rename,
                  "What names of the file begin with -> what those of the "
                  "model do");
  s.rest(c.rules, "PATTERN", "Initialiser of parameters: normal(std=0.02)");
}

void describe(Section& s, EarlyStopConfig& c) {
  s.text("metric", c.metric, "Metric to watch; empty: that of checkpoint.best");
  s.whole("patience", c.patience,
          "Evaluations without a better one; 0: never stop")
      .min(0);
  s.number("min_delta", c.min_delta, "What counts as better").min(0);
  s.choice("mode", c.mode, {"auto", "min", "max"},
           "Whether less or more is better; auto: as the metric is");
}

void describe(Section& s, EvalConfig& c) {
  s.section("data", c.data,
            "Absent: what data.split holds back, else the test part of the "
            "source");
  s.whole("every", c.every, "Steps between; 0: the end of each epoch").min(0);
  s.whole("batch_size", c.batch_size, "Absent: as in training")
      .min(1)
      .max(kMostRows);
  s.texts("metrics", c.metrics,
          "accuracy, top5, f1_macro, auc, r2, outputs, ...");
  s.texts("tables", c.tables,
          "classes, confusion: written as CSV and for TensorBoard");
  s.section("early_stop", c.early_stop, "End when it gets no better");
  s.whole("limit", c.limit, "Samples to look at; absent: all").min(1);
}

void describe(Section& s, CheckpointConfig& c) {
  s.whole("every", c.every, "Steps between; 0: only at the end").min(0);
  s.whole("keep", c.keep, "Newest that stay, besides the best").min(1);
  s.text("best", c.best,
         "Metric of the best; empty: early_stop.metric, else the first metric");
}

void describe(Section& s, NormsConfig& c) {
  s.bare("on");
  s.flag("on", c.on, "Of all parameters that learn");
  s.texts("of", c.of, "Patterns that have their own; layers: each layer has");
}

void describe(Section& s, NetworkConfig& c) {
  s.call("model", c.model, kModelForm, "As the job's");
  s.text("output", c.output, "As the job's");
  s.section("optimizer", c.optimizer, "As the job's");
  s.call("schedule", c.schedule, kKindForm, "As the job's");
  s.section("init", c.init, "As the job's");
  s.texts("freeze", c.freeze, "As the job's");
  s.sections("groups", c.groups, "As the job's");
}

void describe(Section& s, PhaseConfig& c) {
  s.text("learns", c.learns, "Name of the network that learns");
  s.text("loss", c.loss, "Calls of losses, networks and detach()");
  s.whole("every", c.every, "Steps between").min(1);
}

std::vector<std::string> solver_choices() {
  std::vector<std::string> names{"", "off"};
  for (const plan::Solver& s : plan::solvers()) names.emplace_back(s.name);
  return names;
}

void describe_decisions(Section& s, PlanConfig& c) {
  s.whole("depth", c.depth,
          "Segments that fetches are ahead; absent: chosen, without a limit 1")
      .min(0)
      .max(plan::kMostDepth);
  s.bytes("buffer", c.buffer,
          "Most bytes that fetches take on the device before their segment "
          "has its turn; absent: as many as the depth asks for")
      .min(0);
  s.texts("join", c.join,
          "Layers that are one segment, with the name of the first: "
          "\"blocks.0, blocks.1\"");
  s.choice("solver", c.solver, solver_choices(),
           "What decides about segments that are not named, to fit the limit; "
           "off: they are kept");
  s.choice("order", c.order, {"", "micro_batches", "layers"},
           "What goes first with `accumulate`: each micro-batch through all "
           "layers, or all through a layer before the next layer, which loads "
           "its weights once for all; absent: chosen, without a limit "
           "micro_batches");
  s.options(
      "segments", c.segments, "SEGMENT",
      "keep, recompute or offload, also spilled or file, host, "
      "host_file or host_ahead: recompute,spilled,host. A name or a pattern: "
      "`layers.*.mlp` makes a part of a layer a segment; `default` "
      "stands for all "
      "others");
}

void describe(Section& s, PlanConfig& c) {
  s.bare("file");
  s.path("file", c.file, "Of a plan, as braid step --plan takes it");
  describe_decisions(s, c);
}

void describe(Section& s, NoiseConfig& c) {
  s.bare("shape");
  s.wholes("shape", c.shape, "Shape of one sample").min(1);
  s.choice("kind", c.kind, {"normal", "uniform"}, "How it is drawn");
}

namespace {

void describe_model(Section& s, JobConfig& c) {
  s.call("model", c.model, kModelForm,
         "Built-in model with sizes, or the path of a .pt2 or graph file");
  s.text("output", c.output, "Output of a .pt2 that the loss reads");
  s.text("target", c.target, "Field of the data that the loss compares with");
  s.section("data", c.data, "Data to train on");
  s.texts_by_name("inputs", c.inputs,
                  "Field of the data -> argument of the model");
  s.call("loss", c.loss, kKindForm, "Empty: the model's own");
}

void describe_learning(Section& s, JobConfig& c) {
  s.section("optimizer", c.optimizer, "How parameters change");
  s.call("schedule", c.schedule, kKindForm,
         "How the learning rate changes: cosine(steps=900,warmup=10)");
  s.whole("steps", c.steps, "Steps in all; wins over epochs")
      .min(1)
      .max(kMostSteps);
  s.whole("epochs", c.epochs, "Times that all data is seen")
      .min(1)
      .max(kMostEpochs);
  s.whole("batch_size", c.batch_size, "Samples of one step")
      .min(1)
      .max(kMostRows);
  s.flag("drop_last", c.drop_last, "Leave out a last batch that is not full");
  s.whole("accumulate", c.accumulate, "Parts that a batch is cut into").min(1);
  s.section("clip", c.clip, "Limits of gradients");
  s.section("init", c.init, "What parameters begin with");
  s.texts("freeze", c.freeze, "Patterns of parameters that do not learn");
  s.sections("groups", c.groups, "Values of their own for some parameters");
  s.number("ema", c.ema, "Decay of averaged weights; absent: none")
      .min(0)
      .below(1);
}

void describe_run(Section& s, JobConfig& c) {
  s.choice("precision", c.precision, {"f32", "bf16"}, "Of the computation");
  s.choice("dtype", c.dtype, {"f32", "f64"}, "Of the parameters");
  s.whole("seed", c.seed, "Of all that is random").min(0);
  s.whole("threads", c.threads, "0: one per core").min(0).max(kMostThreads);
  s.section("eval", c.eval, "Evaluation");
  s.whole("log_every", c.log_every, "Steps between lines of the log").min(1);
  s.section("log_norms", c.log_norms, "Norms of gradients and weights");
  s.flag("log_system", c.log_system, "Samples per second, memory");
  s.section("checkpoint", c.checkpoint, "What is kept to resume from");
  s.choice("on_nan", c.on_nan, {"stop", "skip"},
           "What to do when the loss or a gradient is not finite");
  s.text("device", c.device, "cpu, cuda or cuda:N");
  s.bytes("memory_limit", c.memory_limit,
          "Of the device, never exceeded; on a CPU the process takes more; "
          "absent: none")
      .min(1);
  s.bytes("host_limit", c.host_limit,
          "Of host memory that a plan moves things to; absent: none")
      .min(0);
  s.section("plan", c.plan,
            "What each segment's memory is used for; what it leaves open is "
            "kept, or with a limit chosen to fit it at the least time");
  s.path("spill_dir", c.spill_dir,
         "Folder on a local disk for what the plan keeps in a file");
  s.number("priority", c.priority,
           "Of jobs that share devices the highest goes first (--policy "
           "priority)");
  s.number("deadline", c.deadline,
           "Seconds after which it should be done (--policy deadline)")
      .above(0);
}

void describe_networks(Section& s, JobConfig& c) {
  s.sections_by_name("networks", c.networks,
                     "Several networks in place of a model");
  s.sections("phases", c.phases, "Parts of a step; each makes one learn");
  s.sections_by_name("noise", c.noise, "Random inputs by name");
}

}  // namespace

void describe(Section& s, JobConfig& c) {
  describe_model(s, c);
  describe_learning(s, c);
  describe_run(s, c);
  describe_networks(s, c);
}

// What a file could not say either is found by reading the job back.
void JobConfig::validate() const {
  config::Report report("job", "");
  JobConfig again;
  read_config(config::write_config(*this), again, {}, report);
  for (const KeyProblem& p : problems_of(*this)) report.add({}, p.problem);
  report.throw_if_any();
}

}  // namespace braid::train
