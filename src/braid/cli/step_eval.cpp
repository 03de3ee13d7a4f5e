#include "braid/cli/step_eval.h"

#include <nlohmann/json.hpp>

#include "braid/cli/device.h"
#include "braid/cli/inputs.h"
#include "braid/cli/model_source.h"
#include "braid/cli/model_state.h"
#include "braid/cli/out_dir.h"
#include "braid/cli/verb.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/forward_run.h"

namespace braid::cli {

int run_eval(const OpTable& ops, const StepOptions& o) {
  auto file = io::SafetensorsFile::open(o.inputs);
  std::vector<InputFile> inputs{{o.inputs, &file}};
  LoadedModel model = load_model(ops, o.model,
                                 {.dtype = find_dtype(o.dtype),
                                  .inputs = &file,
                                  .form = io::pt2::Form::kEval,
                                  .loss = o.named_loss()});
  check_inputs(model.graph, inputs, 1,
               "the model takes " + inputs_in_words(o.model, model.graph));
  OutDir out(o.out, 0);
  runtime::KernelTable kernels = runtime::cpu_kernels();
  auto backend = open_device(device_name(o.device), kNoLimit, kernels);
  runtime::ForwardRun run(ops, model.graph, *backend,
                          static_cast<int>(std::max<int64_t>(o.threads, 1)));
  run.state().initialise(std::vector<int64_t>{o.seed});
  if (model.contents) model.contents->apply(run.state(), 0);
  if (!o.init.empty()) {
    InitFile init(o.init);
    init.check(model.graph.slots());
    init.apply(run.state(), 0);
  }
  Feed feed(model.graph, inputs, 1);
  feed.bind(run.graph());
  run.executor().step(
      [&](int64_t micro, ValueId input) { return feed.at(micro, input); });
  out.create();
  nlohmann::json losses = run.executor().losses();
  io::write_file_atomically(out.path() / "losses.json", losses.dump() + "\n");
  fmt::print("loss  {}\ndone  {}\n", run.executor().losses().at(0),
             out.path().string());
  return kOk;
}

}  // namespace braid::cli
