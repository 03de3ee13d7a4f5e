// `braid step`: N training steps on given tensors, with everything that came
// out of them in files, so that anyone can compare it with anything else.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/cli/display/model_words.h"
#include "braid/cli/out_dir.h"
#include "braid/cli/output.h"
#include "braid/cli/signals.h"
#include "braid/cli/verbs/run_checkpoint.h"
#include "braid/cli/verbs/step_eval.h"
#include "braid/cli/verbs/step_job.h"
#include "braid/cli/verbs/step_run.h"
#include "braid/cli/verbs/verb.h"

namespace braid::cli {
namespace {

void declare(CLI::App& app, StepOptions& o) {
  auto add = [&](const char* name, auto& value, const char* type,
                 const char* text) {
    return app.add_option(name, value, text)->type_name(type);
  };
  add("MODEL", o.model, " ", "As 'mlp(hidden=64)', a .pt2 or graph file");
  add("--inputs", o.inputs, "FILE", "One batch, named as the arguments");
  add("--steps", o.steps, "N", "Steps to run in all")->check(check_whole);
  add("--optimizer", o.optimizer, "NAME", "Kind, see below");
  add("--set", o.set, "NAME=VALUE", "A value: lr=1e-3; may be repeated")
      ->allow_extra_args(false);
  add("--schedule", o.schedule, "TEXT", "Of the learning rate, see below");
  add("--group", o.group, "TEXT", "As '*.bias: lr=0.1'; may be repeated")
      ->allow_extra_args(false);
  add("--freeze", o.freeze, "PATTERN", "Not trained; may be repeated")
      ->allow_extra_args(false);
  add("--init-weights", o.init_weights, "TEXT", "As '*.weight=orthogonal'")
      ->allow_extra_args(false);
  add("--out", o.out, "DIR", "Where to write, and to go on when stopped");
  add("--members", o.members, "FILE", "YAML: trains all members as one array");
  add("--form", o.form, "NAME", "train, or eval: the loss alone (.pt2 files)");
  add("--loss", o.loss, "NAME", "Of a .pt2 file that has none");
  add("--output", o.output, "NAME", "What that loss is of (the first)");
  add("--target", o.target, "NAME", "The input that it is compared with");
  add("--init", o.init, "FILE", "Initial parameters and buffers");
  add("--seed", o.seed, "S", "Of initial values and dropout (0)")
      ->check(check_whole);
  add("--accumulate", o.accumulate, "M", "Cut the batch into M parts (1)")
      ->check(check_whole);
  add("--dtype", o.dtype, "TYPE", "f32 or f64 (as the inputs, else f32)");
  add("--precision", o.precision, "TYPE", "Of the work: f32 or bf16 (f32)");
  add("--device", o.device, "NAME", "cpu or cuda:N (cpu)");
  add("--threads", o.threads, "N", "Most threads of one operation (all)")
      ->check(check_whole);
  add("--memory-limit", o.memory_limit, "BYTES",
      "Of the device, not the process: 512MiB");
  add("--plan", o.plan, "FILE", "YAML: keep, recompute, offload, spill");
  add("--checkpoint-every", o.checkpoint_every, "K", "Steps (never)")
      ->check(check_whole);
  app.footer(
      fmt::format("{}\n{}\n{}\n{}\n"
                  "Files are safetensors where nothing else is said.\n",
                  models_in_words(), optimizers_in_words(),
                  schedules_in_words(), initialisers_in_words()));
}

// "4 segments: 3 keep, 1 recompute"
std::string plan_text(const plan::Plan& plan) {
  std::map<std::string, int> counts;
  for (const plan::Decision& decision : plan.segments) {
    std::string words = plan::decision_text(decision);
    for (const char* usual : {",resident", ",device"}) {
      size_t at = words.find(usual);
      if (at != words.npos) words.erase(at, std::string(usual).size());
    }
    ++counts[words];
  }
  std::string list;
  for (const auto& [words, count] : counts) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", count, words);
  }
  return fmt::format("{} segments: {}", plan.segments.size(), list);
}

void print_start(const StepJob& job, const train::Trainer& trainer,
                 int64_t first_step) {
  std::string limit =
      job.has_limit() ? fmt::format(" of {}", bytes_text(job.limit_bytes)) : "";
  print("plan  {} · {}{} on {}\n", plan_text(trainer.plan()),
        bytes_text(trainer.program().peak_bytes()), limit,
        device_text(job.device));
  std::string shared = shared_words(job);
  if (!shared.empty()) print("note  {}\n", shared);
  if (first_step > 0) print("going on after step {}\n", first_step);
  std::fflush(stdout);
}

int report_stop(const StepRun& run, const StepJob& job) {
  bool saved = run.saved_step() > 0 && run.saved_step() == run.steps_done();
  print_error("[braid step] stopped after step {} of {}, {}\nHINT: {}\n",
              run.steps_done(), job.steps,
              saved ? "which is saved" : "nothing was saved",
              saved ? "the same command goes on from there"
                    : "--checkpoint-every lets a run go on");
  return kInterrupted;
}

int run_step(const StepOptions& options) {
  watch_stop_signals();
  options.validate();
  std::optional<StopAtOnce> preparing(
      std::in_place,
      "[braid step] stopped before the first step; there is nothing to "
      "save\n");
  auto machine = runtime::this_machine();
  if (options.form == "eval") return run_eval(*machine, options);
  StepJob job = read_job(*machine, options);
  OutDir out(options.out, job.trainer.members);
  auto resumed = find_run(out.checkpoints(), job.arguments, job.steps);
  auto backend = machine->open(
      job.device, {.bytes = job.limit_bytes, .cores = job.trainer.threads});
  train::Trainer trainer(machine->ops(), job.forward, *backend, job.trainer);
  job.feed.bind(trainer.graph());
  preparing.reset();
  out.create();
  StepRun run(job, trainer, *backend, out, resumed);
  print_start(job, trainer, run.steps_done());
  if (!run.run()) return report_stop(run, job);
  if (std::string text = run.failure(); !text.empty()) {
    print_error(
        "[braid step] {}; the results are in '{}'\n"
        "HINT: lower the learning rate, clip gradients, or look for NaN "
        "in the inputs\n",
        text, out.path().string());
    return kFailed;
  }
  print("done  {}\n", out.path().string());
  return kOk;
}

}  // namespace

Action add_step(CLI::App& app) {
  auto options = std::make_shared<StepOptions>();
  declare(app, *options);
  return [options] { return run_step(*options); };
}

}  // namespace braid::cli
