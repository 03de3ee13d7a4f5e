#include "braid/cli/verbs/step_eval.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "braid/cli/inputs.h"
#include "braid/cli/out_dir.h"
#include "braid/cli/output.h"
#include "braid/cli/verbs/verb.h"
#include "braid/runtime/forward_run.h"
#include "braid/train/job/init_file.h"
#include "braid/train/job/model_file.h"

namespace braid::cli {

int run_eval(const runtime::Machine& machine, const StepOptions& o) {
  auto file = io::SafetensorsFile::open(o.inputs);
  std::vector<InputFile> inputs{{o.inputs, &file}};
  train::LoadedModel model =
      train::load_model(machine, o.job.model,
                        {.dtype = find_dtype(o.job.dtype),
                         .inputs = input_types(file, 1),
                         .form = train::Form::kEval,
                         .loss = o.named_loss()});
  check_inputs(
      model.graph, inputs, 1,
      "the model takes " + train::inputs_in_words(o.job.model, model.graph));
  OutDir out(o.out, 0);
  auto backend = machine.open(parse_device(o.job.device), {});
  runtime::ForwardRun run(
      machine.ops(), model.graph, *backend,
      static_cast<int>(std::max<int64_t>(o.job.threads, 1)));
  run.state().initialise(std::vector<int64_t>{o.job.seed});
  if (model.contents) model.contents->apply(run.state(), 0);
  if (!o.init.empty()) {
    train::InitFile init(o.init);
    init.check(model.graph.slots());
    init.apply(run.state(), 0);
  }
  run.executor().step([&](int64_t, ValueId input) {
    return file.find(run.graph().value(input).name)->bytes.data();
  });
  file.check();
  out.create();
  nlohmann::json losses = run.executor().losses();
  io::write_file_atomically(out.path() / "losses.json", losses.dump() + "\n");
  double loss = run.executor().losses().at(0);
  print("loss  {}\ndone  {}\n", loss, out.path().string());
  if (std::isfinite(loss)) return kOk;
  print_error("[braid step] the loss is {}\n", loss);
  return kFailed;
}

}  // namespace braid::cli
