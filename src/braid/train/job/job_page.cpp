#include "braid/train/job/job_page.h"

#include "braid/base/error.h"
#include "braid/config/page.h"
#include "braid/ops/build/named_losses.h"
#include "braid/train/job/job_list.h"
#include "braid/train/run/metrics.h"

namespace braid::train {
namespace {

constexpr const char* kIntro =
    "# Job files\n\n"
    "Made from the table in `src/braid/train/job/job_config.cpp` by `make "
    "docs`; "
    "do not edit.\n\n"
    "A job is one training run. Its file is YAML with the keys below; only "
    "`model`, `data` and one of `steps` and `epochs` must be there:\n\n"
    "```yaml\n";

constexpr const char* kExample =
    "model: lenet(classes=36)       # or {name: lenet, classes: 36}\n"
    "data:\n"
    "  source: glyphs               # docs/data.md lists sources and options\n"
    "  count: 20000\n"
    "optimizer:\n"
    "  kind: adamw\n"
    "  lr: 1e-3\n"
    "  weight_decay: 0.01\n"
    "schedule: cosine(warmup=5%)\n"
    "epochs: 3\n"
    "batch_size: 64\n"
    "clip: 1.0                      # or {norm: 1.0, value: 0.5}\n"
    "groups:\n"
    "  - {pattern: '*.bias', weight_decay: 0}\n"
    "eval:\n"
    "  metrics: [accuracy]\n"
    "  early_stop: {metric: accuracy, patience: 3}\n"
    "checkpoint: {every: 200, keep: 2}\n"
    "seed: 1\n";

constexpr const char* kRules =
    "```\n\n"
    "- Values are read by the type of their key: `1e-4` and `.1` are numbers, "
    "`no` for a text is the text `no`, a number in quotes is an error (values "
    "of "
    "`optimizer` and options of `data` may be quoted). An "
    "unknown key is an error that names the nearest known one. All problems "
    "of a file are reported at once, each with its line.\n"
    "- On the command line any key can be set: `braid train job.yaml "
    "optimizer.lr=3e-4 data.count=100 phases.0.every=2`. Lists and maps are "
    "written as in YAML: `'freeze=[conv1.*]'`; with nothing after `=` the "
    "default "
    "counts.\n"
    "- Relative paths begin at the folder of the file, those of the command "
    "line at the working directory. The configuration that a run saves beside "
    "its results has all keys and absolute paths.\n"
    "- `model`, `loss` and `schedule` are `name(value=1)`, or a map "
    "(`{name: lenet, classes: 36}`, `{kind: cosine, steps: 900}`).\n"
    "- A schedule without `steps` ends with the run: after `steps`, or "
    "`epochs` times the batches of an epoch, warm-up included. Numbers of "
    "steps "
    "may be shares of the run, rounded to whole steps: `cosine(warmup=5%)`, "
    "`multi_step(milestones=[50%,75%])`. A network that learns every second "
    "step has half as many. A run that is made longer goes on, from where it "
    "is, with the rates of a run that had the new length from the beginning.\n"
    "- `optimizer` and `schedule` take the kinds and values that `braid step "
    "--help` lists, `betas: [0.9, 0.999]` too; `init` the initialisers.\n"
    "- `optimizer: {loss_scale: 1024}` scales the loss for its gradients, and "
    "skips a step in which they overflow; with `growth_interval: 2000` the "
    "scale moves as that of `torch.amp.GradScaler` (`growth_factor`, "
    "`backoff_factor`).\n"
    "- Several networks (a GAN) have `networks`, `phases` and, for random "
    "inputs, `noise`, in place of `model`, `loss`, `optimizer` and what goes "
    "with them:\n\n"
    "```yaml\n";

constexpr const char* kNetworks =
    "networks:\n"
    "  generator:\n"
    "    model: {name: dcgan_generator, channels: 1, side: 32, width: 16}\n"
    "    optimizer: {kind: adam, lr: 2e-4, betas: [0.5, 0.999]}\n"
    "  discriminator:\n"
    "    model: {name: dcgan_discriminator, channels: 1, side: 32, width: 16}\n"
    "    optimizer: {kind: adam, lr: 2e-4, betas: [0.5, 0.999]}\n"
    "phases:\n"
    "  - learns: discriminator\n"
    "    loss: bce(discriminator(x), 1) + "
    "bce(discriminator(detach(generator(z))), 0)\n"
    "  - learns: generator\n"
    "    loss: bce(discriminator(generator(z)), 1)\n"
    "noise:\n"
    "  z: {shape: [100, 1, 1], kind: normal}\n"
    "data:\n"
    "  source: glyphs\n"
    "  size: 32\n"
    "  augment: {mean: 0.5, std: 0.5}  # from -1 to 1, as tanh gives them\n"
    "epochs: 5\n";

constexpr const char* kMembersText =
    "```\n\n"
    "- A file may list members, each of which is the job with other values "
    "for some keys, as the command line would set them; `name` names its "
    "folder, and else what differs does (`hidden=64,lr=1e-3`). Jobs of one "
    "shape "
    "are trained together as arrays, each as if alone. Members with equal "
    "`data` and equal `data.order_seed` see the same batches, which is "
    "faster:\n\n"
    "```yaml\n";

constexpr const char* kMembersExample =
    "model: lenet\n"
    "data: {source: glyphs, order_seed: 1}\n"
    "epochs: 3\n"
    "members:\n"
    "  - {optimizer.lr: 1e-3}\n"
    "  - {optimizer.lr: 3e-3, seed: 2}\n"
    "  - {name: slow, optimizer.lr: 1e-4, schedule: cosine(steps=900)}\n";

constexpr const char* kGridText =
    "```\n\n"
    "- `grid` makes members of lists of values, every value with every other; "
    "the lists of `zip` go side by side. With `members`, each of them takes "
    "all: the example is 2 x 3 x 2 jobs. On the command line: `grid.seed=[1, "
    "2, 3]`.\n\n"
    "```yaml\n";

constexpr const char* kGridExample =
    "model: lenet\n"
    "data: {source: glyphs, order_seed: 1}\n"
    "epochs: 3\n"
    "grid:\n"
    "  optimizer.lr: [1e-3, 3e-3]\n"
    "  seed: [1, 2, 3]\n"
    "zip:\n"
    "  batch_size: [32, 64]\n"
    "  optimizer.weight_decay: [0.01, 0.02]\n";

constexpr const char* kTable =
    "```\n\n## Keys\n\n"
    "`N` stands for a number from 0, `NAME`, `OPTION`, `VALUE` and `PATTERN` "
    "for names.\n\n";

constexpr const char* kLosses =
    "\n## Losses\n\n"
    "What `loss` may be, and what the losses of phases may call: "
    "`cross_entropy(label_smoothing=0.1)`, in phases `huber(f(x), y, "
    "delta=2)`. Classes lie in dimension 1 of the scores, as in PyTorch, or in "
    "the last one. Losses of phases may also use `detach(x)`, `mean(x)`, `+`, "
    "`-`, `*`, brackets and numbers.\n\n"
    "| Loss | Compares with | |\n| --- | --- | --- |\n";

constexpr const char* kMetrics =
    "\n## Metrics\n\n"
    "What `eval.metrics` may name; any other name is an output of the model, "
    "one number, weighed by the rows of its batch.\n\n"
    "| Metric | |\n| --- | --- |\n";

constexpr const char* kExact =
    "\nAll values are over the whole evaluation, however it is cut into "
    "batches, and leave out targets that the loss ignores. `precision`, "
    "`recall` and `f1` need two classes, of which class 1 counts; with more "
    "say which mean. They and `auc` go with the losses over classes and with "
    "`bce` and `bce_with_logits`, where every target, 0 or 1, is a decision of "
    "its own (1 from a probability above 0.5 on). `mae`, `mse`, `rmse` and "
    "`r2` go with `mse`, `l1`, `smooth_l1` and `huber`.\n\n"
    "What is not defined is as scikit-learn has it: a share of nothing is 0 "
    "(the precision of a class that was never taken), and means are over "
    "classes that occur among targets or decisions. `auc` is NaN when a class "
    "has no target or all of them, `r2` for a single row; then "
    "`metrics.jsonl` has `null`. A target that never changes has an `r2` of 1 "
    "where all predictions are right, else 0. Of equal scores the first class "
    "is taken.\n\n"
    "`auc` needs all scores in order, one per target and class (one per target "
    "with two classes). Of each job it keeps 32 MiB of them in memory; what is "
    "more goes to temporary files, 8 bytes per score. The other metrics keep "
    "some numbers per class or column.\n\n"
    "With `eval.tables: [classes, confusion]` each evaluation writes "
    "`classes.csv` (targets, decisions, precision, recall and f1 of each "
    "class) and `confusion.csv` (a row per class of targets, a column per "
    "class that was taken; up to 1024 classes) in the run's folder, in place "
    "of those before; TensorBoard has them as texts of every evaluation, up to "
    "100 classes. Where the data name the classes, as labels of `csv` and "
    "folders of `images` do, the one has a column `name`, and the other goes "
    "by "
    "names. With `ema` they are of the averaged weights.\n";

constexpr const char* kRuns =
    "\n## Weights of another model\n\n"
    "`init: {file: base.safetensors}` takes a whole state dict: every "
    "parameter and buffer must be there, with its shape and its type or a "
    "narrower one (f16 and bf16 become f32, each number as it is), and nothing "
    "else. To begin with the weights of another model (fine-tuning), say where "
    "the two may differ, in patterns of names:\n\n"
    "- `missing: ['head.*']`: tensors of the model that the file may lack;\n"
    "- `reshaped: ['embed.weight']`: those that it may have in another "
    "shape;\n"
    "- `extra: ['classifier.*']`: tensors of the file that nobody needs, by "
    "the file's names;\n"
    "- `rename: {'module.': '', 'encoder.': 'backbone.encoder.'}`: what names "
    "of the file begin with, and what those of the model do; the longest "
    "beginning that fits counts. `rename: {'': 'backbone.'}` puts something "
    "before all names.\n\n"
    "What is missing or of another shape begins as it would without the file: "
    "by `init`'s initialisers, else drawn by the seed or, of a .pt2 file, as "
    "`init.from` says. Anything else that does not fit is an error that lists "
    "names and shapes, with the patterns that would allow it. The log says "
    "how many tensors were taken, were missing, of another shape and left; "
    "with `-v` it names them. A pattern of `missing` or `reshaped` that fits "
    "no tensor of the model is an error. Members of a list may have files of "
    "their own, and each of several networks its own `init`. With `freeze` "
    "the weights that were taken stay as they are.\n\n"
    "`init: {run: runs/a}` takes the weights of another run instead, from its "
    "newest checkpoint, that of `step: N` or of the best evaluation (`best: "
    "true`); patterns mean the same. `optimizer: true` takes what its "
    "optimizer remembered too: momenta, averages and the number of updates. "
    "Step, schedule, data and seeds are those of the new run. What was saved "
    "of a run with `ema` are both; it is the weights themselves that are "
    "taken.\n"
    "\n## Plans by hand\n\n"
    "`plan` says what the memory of each segment is used for, as `braid step "
    "--plan` does: `plan: plan.yaml`, or `plan: {depth: 1, segments: {default: "
    "keep, blocks.0: 'recompute,spilled,host'}}`. `braid inspect MODEL` lists "
    "the segments, `braid validate` and `braid inspect JOB.yaml` print the "
    "plan and the peak. Without it everything stays on the device, or with "
    "`memory_limit` or `host_limit` what is not named is chosen to keep them "
    "at "
    "the least time ([plan.md](plan.md)). No plan changes a "
    "number.\n\n"
    "`file` in place of `spilled` keeps parameters in a file, and `host_file` "
    "in place of `host` what the optimizer remembers: they are read into host "
    "memory ahead of each use, and written back, by a thread of their own. "
    "`spill_dir: /local/disk` or `--spill-dir` names the folder; without it "
    "such a plan is refused. The file takes its whole size from the start and "
    "has no name, so nothing is left behind however a run ends. A disk that "
    "fails, or a content that is not what was written, ends the run with an "
    "error; `braid resume` goes on from its last checkpoint.\n"
    "\n## What is best\n\n"
    "One metric decides: `checkpoint.best`, else `eval.early_stop.metric`, "
    "else the first of `eval.metrics`, else `accuracy` or `perplexity` where "
    "that suits the loss, else the loss of the evaluation. The leaderboard "
    "ranks by its best value, the last line names it, early stopping watches "
    "it, `braid export --best` writes it, and its checkpoint is never "
    "deleted. `eval.early_stop.mode` says which way it gets better where the "
    "metric is an output of the model. With both `checkpoint.best` and another "
    "`eval.early_stop.metric`, early stopping watches its own and everything "
    "else goes by the first; then the checkpoints of both stay.\n"
    "\n## Averaged weights\n\n"
    "With `ema` both the averaged weights and the weights themselves are "
    "evaluated. What is best goes by the averaged ones, and `braid export` "
    "writes them unless it is told `--raw`. In `metrics.jsonl` they are rows "
    "with the split `eval` and `\"weights\": \"averaged\"`; rows of the "
    "weights themselves have the split `eval_raw`.\n"
    "\n## The loss of training\n\n"
    "A row `train` of `metrics.jsonl`, written every `log_every` steps and at "
    "the end, has the mean loss of the steps since the row before; each step "
    "counts once, whatever the rows of its batch. The screen shows the same "
    "mean up to the present step. Steps that were skipped do not count.\n"
    "\n## Norms, throughput and memory\n\n"
    "With `log_norms: true` rows of the split `train` also have `grad_norm`, "
    "of all gradients of that step together before they are clipped, and "
    "`weight_norm`, of the same parameters after it. `log_norms: {of: [layers, "
    "'*.bias']}` adds one for each layer and each pattern: "
    "`grad_norm/conv1`, `grad_norm/*.bias`. With several networks the name of "
    "the one that learned comes first: `generator/grad_norm`. The training is "
    "the same bit for bit.\n\n"
    "With `log_system: true` there are rows of the split `system` at the same "
    "steps: `samples_per_s` of this job since the row before, waiting for data "
    "included and evaluations not, `device_bytes` and `device_peak_bytes` of "
    "the device's account, which all jobs of an array share, `process_bytes` "
    "and `process_peak_bytes` of the whole process. They differ from run to "
    "run, as `time_s` does. TensorBoard has all of these numbers too.\n"
    "\n## Losses that are not finite\n\n"
    "With `on_nan: stop` the run fails at the first one. With `on_nan: skip` "
    "such a step changes nothing, and a line of the log says how many there "
    "were. The run fails all the same when every step of `log_every`, ten at "
    "least, was skipped, or half of the whole run at its end; what was saved "
    "before stays.\n"
    "\n## Changing a job that goes on\n\n"
    "A checkpoint knows the job that it is of. `braid resume` refuses a "
    "`config.yaml` that differs from it, with all keys and both values, but "
    "for these, which count from then on: `steps`, `epochs`, `log_every`, "
    "`log_norms`, `log_system`, "
    "`threads`, `device`, `memory_limit`, `plan`, `spill_dir`, "
    "`priority`, `deadline`, `checkpoint.every`, "
    "`checkpoint.keep`, `eval.every`, `eval.batch_size`, "
    "`eval.early_stop.patience`, `eval.early_stop.min_delta`, `on_change` of "
    "data, and where the files of data lie. `braid resume DIR epochs=10` sets "
    "them for a run, or for all jobs of a list: more epochs end as if there "
    "had been so many from the start, but for an evaluation and a row of the "
    "log at the old end.\n\n"
    "It also knows the data: their number, a sum of up to 1024 samples, sizes "
    "and times of files. Data that changed are warned of, or refused with "
    "`data.on_change: refuse`.\n";

std::string losses_table() {
  std::string text = kLosses;
  for (const LossKind& kind : loss_kinds()) {
    text +=
        fmt::format("| `{}` | {} | {} |\n", signature_text(kind),
                    kind.takes_classes ? "classes" : "numbers", kind.summary);
  }
  return text;
}

std::string metrics_table() {
  std::string text = kMetrics;
  for (const MetricKind& kind : metric_kinds()) {
    text += fmt::format("| `{}` | {} |\n", kind.name, kind.summary);
  }
  return text;
}

// With the list of members, which no single job has.
std::vector<config::Row> rows() {
  std::vector<config::Row> rows = config::rows_of<JobConfig>();
  rows.push_back({"members", fmt::format("list of 1 to {} maps", kMostMembers),
                  "", "Jobs that differ from this one: {optimizer.lr: 3e-3}"});
  rows.push_back({"grid.KEY", "list of values", "",
                  "Members with every value of every key"});
  rows.push_back(
      {"zip.KEY", "list of values", "",
       "Members with the first values of all keys, the second, ..."});
  rows.push_back(
      {"members.N.name", "text", "", "Of its folder; absent: what differs"});
  return rows;
}

}  // namespace

std::string job_page() {
  return fmt::format("{}{}{}{}{}{}{}{}{}{}{}{}", kIntro, kExample, kRules,
                     kNetworks, kMembersText, kMembersExample, kGridText,
                     kGridExample, kTable, config::markdown_table(rows()),
                     losses_table(), metrics_table() + kExact + kRuns);
}

std::string job_help() { return config::help_text(rows()); }

std::vector<std::string> job_examples() {
  return {kExample, kNetworks, kMembersExample, kGridExample};
}

}  // namespace braid::train
