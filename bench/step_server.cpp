// A model ready to step, driven over standard input so that a script can time
// it between other engines: a line "N" runs N training steps and answers with
// the seconds they took; "peak" answers with predicted and charged bytes;
// "profile" answers with the seconds of each op in a step, "calls" with those
// of its 20 longest calls.
//   step_server MODEL OPTIMIZER THREADS [MEMBERS [CLASSES]]
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "braid/models/models.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/train/trainer.h"

namespace {

using namespace braid;

// Inputs that any of the built-in models accepts: small floats, integers
// below `classes`.
std::vector<std::vector<std::byte>> make_inputs(const Graph& graph,
                                                int64_t classes) {
  std::vector<std::vector<std::byte>> inputs(graph.values().size());
  for (ValueId id : graph.inputs()) {
    const ValueType& type = graph.value(id).type;
    auto count = static_cast<size_t>(num_elements(type.shape));
    auto& bytes = inputs[static_cast<size_t>(id)];
    bytes.resize(count * static_cast<size_t>(item_bytes(type.dtype)));
    for (size_t i = 0; i < count; ++i) {
      if (type.dtype == DType::kInt64) {
        int64_t value = static_cast<int64_t>(i) % classes;
        std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
      } else {
        float value = static_cast<float>(i % 97) / 97 - 0.5f;
        std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
      }
    }
  }
  return inputs;
}

double run_steps(train::Trainer& trainer, int64_t count,
                 const std::vector<std::vector<std::byte>>& inputs) {
  auto feed = [&](int64_t, ValueId id) {
    return inputs[static_cast<size_t>(id)].data();
  };
  auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i) trainer.step(feed);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

using Names = std::function<std::string(const Graph& graph, const Node& node)>;

std::string op_of(const Graph&, const Node& node) { return node.op->name; }

std::string call_of(const Graph& graph, const Node& node) {
  std::string text = node.op->name + " " + node.path;
  for (ValueId id : node.inputs) {
    if (id != kNone) text += " " + shape_text(graph.value(id).type.shape);
  }
  return text;
}

// Seconds of one step, summed by name, the largest first, then a line "end".
void print_profile(train::Trainer& trainer,
                   const std::vector<std::vector<std::byte>>& inputs,
                   const Names& name_of, size_t most) {
  constexpr int64_t kSteps = 10;
  std::vector<double> seconds;
  trainer.executor().time_calls(&seconds);
  run_steps(trainer, kSteps, inputs);
  trainer.executor().time_calls(nullptr);
  const Graph& graph = trainer.program().graph;
  std::map<std::string, double> by_name;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const Node& node = graph.node(trainer.program().calls[i].node);
    by_name[name_of(graph, node)] += seconds[i] / kSteps;
  }
  std::multimap<double, std::string> sorted;
  for (const auto& [name, s] : by_name) sorted.emplace(-s, name);
  for (const auto& [s, name] : sorted) {
    if (most-- == 0) break;
    std::cout << -s << " " << name << "\n";
  }
  std::cout << "end" << std::endl;
}

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
  auto inputs = make_inputs(trainer.graph(), argc > 5 ? std::stoi(argv[5]) : 2);
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "peak") {
      std::cout << trainer.program().peak_bytes() << " "
                << backend.account().peak_bytes() << std::endl;
    } else if (line == "profile") {
      print_profile(trainer, inputs, op_of, 1000);
    } else if (line == "calls") {
      print_profile(trainer, inputs, call_of, 20);
    } else {
      std::cout << run_steps(trainer, std::stoll(line), inputs) << std::endl;
    }
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
