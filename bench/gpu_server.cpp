// A model ready to step on a CUDA device, or on the CPU where there is none,
// with its batch in the device's memory; see model_server.h. It says "ready"
// when it has run a few steps, or in one line why it does not run. "flops"
// answers with the operations of one member's step, from the graph.
//   gpu_server MODEL OPTIMIZER MEMBERS PRECISION [LOWERING]
//   gpu_server flops MODEL OPTIMIZER
//   gpu_server device       says "cuda" or "cpu"
// PRECISION: f32 or bf16. A MEMBERS of 1 is one model without an axis of
// members. LOWERING is that of all convolutions.
#include <algorithm>
#include <sstream>

#include "braid/base/error.h"
#include "braid/compile/pipeline.h"
#include "braid/models/models.h"
#include "braid/ops/core/lowering.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/kernels/cuda_backend.h"
#include "model_server.h"

namespace {

using namespace braid;

// Steps before "ready": some plain ones, then one recorded, then some replayed.
constexpr int64_t kWarmUp = 8;

// What labels and tokens of the model are below, from its text or defaults.
int64_t classes_of(const std::string& model) {
  for (const std::string name : {"vocab", "classes"}) {
    size_t at = model.find(name + "=");
    if (at != model.npos) return std::stoll(model.substr(at + name.size() + 1));
    for (const models::Model& m : models::all_models()) {
      if (m.name != model.substr(0, model.find('('))) continue;
      for (const models::Size& size : m.sizes) {
        if (size.name == name) return static_cast<int64_t>(size.value);
      }
    }
  }
  return 2;
}

train::TrainerOptions trainer_options(int argc, char** argv) {
  int64_t members = std::stoll(argv[3]);
  train::TrainerOptions options{.optimizer = passes::make_optimizer(argv[2])};
  options.members = members > 1 ? members : 0;
  auto precision = find_dtype(argv[4]);
  if (!precision) fail_usage("[gpu_server] no precision '{}'", argv[4]);
  options.precision = *precision;
  if (argc <= 5) return options;
  options.lowering = find_lowering(argv[5]);
  if (!options.lowering) fail_usage("[gpu_server] no lowering '{}'", argv[5]);
  return options;
}

double flops_of(const OpTable& ops, const char* model, const char* optimizer) {
  compile::StepSpec spec{
      .forward = models::build_model(ops, model, DType::kFloat32),
      .optimizer = passes::make_optimizer(optimizer)};
  Graph graph = compile::build_step(ops, spec, {}).step.graph;
  double flops = 0;
  for (const Node& node : graph.nodes()) flops += ops.cost(graph, node).flops;
  return flops;
}

std::unique_ptr<runtime::Backend> make_backend(
    const runtime::KernelTable& kernels) {
  if (runtime::has_cuda()) return runtime::make_cuda_backend(kernels, {});
  return std::make_unique<runtime::CpuBackend>(kernels, runtime::CpuOptions{});
}

// The inputs in memory of the device.
std::vector<runtime::Memory> placed(runtime::Backend& backend,
                                    const bench::Inputs& inputs) {
  std::vector<runtime::Memory> memory(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].empty()) continue;
    auto bytes = static_cast<int64_t>(inputs[i].size());
    memory[i] = {backend, runtime::Memory::Where::kDevice, bytes, "inputs"};
    backend.write(memory[i].data(), inputs[i].data(), bytes);
  }
  backend.synchronize();
  return memory;
}

void serve(int argc, char** argv) {
  OpTable ops = standard_ops();
  runtime::KernelTable kernels = runtime::cpu_kernels();
  auto backend = make_backend(kernels);
  train::TrainerOptions options = trainer_options(argc, argv);
  train::Trainer trainer(ops,
                         models::build_model(ops, argv[1], DType::kFloat32),
                         *backend, options);
  std::vector<int64_t> seeds;
  for (int64_t i = 0; i < std::max<int64_t>(options.members, 1); ++i) {
    seeds.push_back(i + 1);
  }
  trainer.initialise(seeds);
  auto inputs = placed(
      *backend, bench::make_inputs(trainer.graph(), classes_of(argv[1])));
  bench::Server server{trainer, *backend, [&](int64_t, ValueId id) {
                         return inputs[static_cast<size_t>(id)].data();
                       }};
  bench::run_steps(server, kWarmUp);
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "flops") {
      std::cout << flops_of(ops, argv[1], argv[2]) << std::endl;
    } else {
      bench::answer(server, line);
    }
  }
}

// The text in one line.
std::string one_line(const std::string& text) {
  std::istringstream words(text);
  std::string line, word;
  while (words >> word && line.size() < 300) line += " " + word;
  return line;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2 && argv[1] == std::string("device")) {
    std::cout << (runtime::has_cuda() ? "cuda" : "cpu") << std::endl;
    return 0;
  }
  if (argc == 4 && argv[1] == std::string("flops")) {
    std::cout << flops_of(standard_ops(), argv[2], argv[3]) << std::endl;
    return 0;
  }
  if (argc < 5) {
    std::cerr << "usage: gpu_server MODEL OPTIMIZER MEMBERS PRECISION "
                 "[LOWERING]\n";
    return 2;
  }
  serve(argc, argv);
} catch (const std::exception& error) {
  std::cout << "does not run:" << one_line(error.what()) << std::endl;
  return 1;
}
