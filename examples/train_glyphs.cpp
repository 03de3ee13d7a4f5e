// The job of glyphs_lenet.yaml in C++: LeNet learns to read drawn digits and
// letters. 0.99 of the test images after about half a minute on two cores.
//   train_glyphs [STEPS]
#include <fmt/format.h>

#include "braid/braid.h"

using namespace braid;

int main(int argc, char** argv) {
  train::JobConfig job;
  job.model = "lenet";
  job.data = {.source = "glyphs",
              .options = {{"classes", "36"}, {"count", "20000"}}};
  job.eval.data = job.data;
  job.eval.data->options = {
      {"classes", "36"}, {"count", "2000"}, {"part", "test"}};
  job.optimizer.values = {{"lr", "2e-3"}, {"weight_decay", "0.01"}};
  job.schedule = "cosine(steps=940, warmup=50)";
  job.batch_size = 64;
  job.seed = 1;
  job.epochs = 3;
  if (argc > 1) job.steps = std::stoll(argv[1]);

  auto machine = runtime::this_machine();
  train::Job checked(*machine, job);
  train::Run run(checked, {});
  run.run();
  for (const auto& [name, value] : run.evaluation()) {
    fmt::print("{} {:.4f}\n", name, value);
  }
  run.save("glyphs.safetensors");
}
