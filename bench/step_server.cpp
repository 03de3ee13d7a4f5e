// A model ready to step on the CPU, see model_server.h.
//   step_server MODEL OPTIMIZER THREADS [MEMBERS [CLASSES]]
#include "model_server.h"

#include "braid/models/models.h"
#include "braid/runtime/cpu_backend.h"

namespace {

using namespace braid;

void serve(char** argv, int argc) {
  OpTable ops = standard_ops();
  runtime::KernelTable kernels = runtime::cpu_kernels();
  runtime::CpuBackend backend(kernels, {});
  train::TrainerOptions options{.optimizer = passes::make_optimizer(argv[2])};
  options.threads = std::stoi(argv[3]);
  options.members = argc > 4 ? std::stoi(argv[4]) : 0;
  train::Trainer trainer(ops,
                         models::build_model(ops, argv[1], DType::kFloat32),
                         backend, options);
  trainer.initialise(std::vector<int64_t>(
      static_cast<size_t>(std::max<int64_t>(options.members, 1)), 1));
  auto inputs =
      bench::make_inputs(trainer.graph(), argc > 5 ? std::stoi(argv[5]) : 2);
  bench::Server server{trainer, backend, [&](int64_t, ValueId id) {
                         return inputs[static_cast<size_t>(id)].data();
                       }};
  for (std::string line; std::getline(std::cin, line);) {
    bench::answer(server, line);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr
        << "usage: step_server MODEL OPTIMIZER THREADS [MEMBERS [CLASSES]]\n";
    return 2;
  }
  serve(argv, argc);
}
