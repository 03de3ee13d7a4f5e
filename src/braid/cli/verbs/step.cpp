// `braid step`: N training steps on given tensors, with everything that came
// out of them in files, so that anyone can compare it with anything else.
#include <CLI/CLI.hpp>
#include <memory>

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/cli/display/display.h"
#include "braid/cli/display/model_words.h"
#include "braid/cli/out_dir.h"
#include "braid/cli/output.h"
#include "braid/cli/profile_file.h"
#include "braid/cli/signals.h"
#include "braid/cli/verbs/options.h"
#include "braid/cli/verbs/step_eval.h"
#include "braid/cli/verbs/step_job.h"
#include "braid/cli/verbs/step_recorder.h"
#include "braid/train/run/run.h"
#include "braid/train/run/run_words.h"
#include "braid/train/run/time_run.h"

namespace braid::cli {
namespace {

void declare(CLI::App& app, StepOptions& o) {
  train::JobConfig& job = o.job;
  AddOption add(app);
  add("MODEL", job.model, " ", "As 'mlp(hidden=64)', a .pt2 or graph file");
  add("--inputs", o.inputs, "FILE", "One batch, named as the arguments");
  add.whole("--steps", job.steps, "N", "Steps to run in all");
  add("--optimizer", job.optimizer.kind, "NAME", "Kind, see below");
  add.repeated("--set", o.set, "NAME=VALUE",
               "A value: lr=1e-3; may be repeated");
  add("--schedule", job.schedule, "TEXT", "Of the learning rate, see below");
  add.repeated("--group", o.group, "TEXT",
               "As '*.bias: lr=0.1'; may be repeated");
  add.repeated("--freeze", job.freeze, "PATTERN",
               "Not trained; may be repeated");
  add.repeated("--init-weights", o.init_weights, "TEXT",
               "As '*.weight=orthogonal'");
  add("--out", o.out, "DIR", "Where to write, and to go on when stopped");
  add("--members", o.members, "FILE", "YAML: trains all members as one array");
  add("--form", o.form, "NAME", "train, or eval: the loss alone (.pt2 files)");
  add.loss(job.loss, job.output, job.target);
  add("--init", o.init, "FILE", "Initial parameters and buffers");
  add.whole("--seed", job.seed, "S", "Of initial values and dropout (0)");
  add.whole("--accumulate", job.accumulate, "M",
            "Cut the batch into M parts (1)");
  add("--dtype", job.dtype, "TYPE", "f32 or f64 (as the inputs, else f32)");
  add("--precision", job.precision, "TYPE", "Of the work: f32 or bf16 (f32)");
  add("--device", job.device, "NAME", "cpu or cuda:N (cpu)");
  add.whole("--threads", job.threads, "N",
            "Most threads of one operation (all)");
  add("--memory-limit", o.memory_limit, "BYTES",
      "Of the device, not the process: 512MiB");
  add("--host-limit", o.host_limit, "BYTES",
      "Of memory that a plan moves things to");
  add("--plan", o.plan, "FILE", "YAML: keep, recompute, offload, spill");
  add("--spill-dir", o.spill_dir, "DIR", "For what a plan keeps in a file");
  add("--profile", o.profile, "FILE",
      "Measured seconds; what is missing is measured");
  add.whole("--checkpoint-every", job.checkpoint.every, "K", "Steps (never)");
  app.footer(
      fmt::format("{}\n{}\n{}\n{}\n"
                  "Files are safetensors where nothing else is said.\n",
                  models_in_words(), optimizers_in_words(),
                  schedules_in_words(), initialisers_in_words()));
}

void print_start(const StepJob& job, train::Run& run) {
  const train::Job& first = job.first();
  const auto& limit = first.config().memory_limit;
  std::string plan = train::plan_words(run.programs().set());
  print("{} · {}{} on {}\n", plan,
        bytes_text(run.programs().program(0).peak_bytes()),
        limit ? fmt::format(" of {}", bytes_text(*limit)) : "",
        device_text(first.device()));
  for (const auto& member : job.members) {
    std::string shared = member->model().shared_words();
    if (shared.empty()) continue;
    print("note  {}\n", shared);
    break;
  }
  if (run.steps_done() > 0) print("going on after step {}\n", run.steps_done());
  std::fflush(stdout);
}

DisplayState display_state(const StepJob& job, train::Run& run,
                           const StepRecorder& recorder) {
  DisplayState state;
  state.step = run.steps_done();
  state.steps = job.first().num_steps();
  state.memory_bytes = run.array().peak_bytes();
  state.limit_bytes = job.first().config().memory_limit.value_or(0);
  for (size_t k = 0; k < recorder.losses().size(); ++k) {
    state.rows.push_back(
        {fmt::format("member-{}", k), recorder.losses()[k].back(), {}, {}});
  }
  return state;
}

int report_stop(const train::Run& run, const StepRecorder& recorder) {
  int64_t step = run.steps_done();
  bool saved = step > 0 && recorder.saved_step() == step;
  print_error("[braid step] stopped after step {} of {}, {}\nHINT: {}\n", step,
              run.members()[0]->job().num_steps(),
              saved ? "which is saved" : "nothing was saved",
              saved ? "the same command goes on from there"
                    : "--checkpoint-every lets a run go on");
  return kInterrupted;
}

plan::Profile profile_for(const StepJob& job, const std::string& path) {
  plan::Profile profile = read_profile(path);
  if (path.empty()) return profile;
  std::vector<const train::Job*> jobs;
  for (const auto& member : job.members) jobs.push_back(member.get());
  train::TimedRun timed = train::complete_profile(
      jobs, profile, {.together = true, .plan = job.plan});
  write_profile(path, profile);
  if (timed.steps > 0) print("{}\n", train::timed_words(timed, path));
  return profile;
}

std::unique_ptr<train::Run> make_run(const StepJob& job,
                                     std::unique_ptr<StepRecorder> recorder,
                                     plan::Profile profile) {
  train::RunOptions options{.stop = stop_requested,
                            .recorder = std::move(recorder),
                            .together = true,
                            .plan = job.plan,
                            .profile = std::move(profile),
                            .lag = 0};
  if (!job.is_array) {
    return std::make_unique<train::Run>(job.first(), std::move(options));
  }
  std::vector<train::RunMember> members;
  for (const auto& member : job.members) {
    members.push_back({.name = "", .job = member.get()});
  }
  return std::make_unique<train::Run>(members, std::move(options));
}

int train_steps(const StepJob& job, train::Run& run,
                const StepRecorder& recorder, const OutDir& out) {
  print_start(job, run);
  Display display(stdout, {.first_step = run.steps_done()});
  while (run.tick()) display.update(display_state(job, run, recorder));
  display.finish();
  if (run.ending() == train::Ending::kInterrupted) {
    return report_stop(run, recorder);
  }
  if (std::string text = recorder.failure(); !text.empty()) {
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
  OutDir out(options.out, job.num_lanes());
  auto recorder =
      std::make_unique<StepRecorder>(job, out, [&] { preparing.reset(); });
  StepRecorder& records = *recorder;
  auto run =
      make_run(job, std::move(recorder), profile_for(job, options.profile));
  return train_steps(job, *run, records, out);
}

}  // namespace

Action add_step(CLI::App& app) {
  auto options = std::make_shared<StepOptions>();
  declare(app, *options);
  return [options] { return run_step(*options); };
}

}  // namespace braid::cli
