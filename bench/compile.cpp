// Seconds that compiling a training step takes, by pass, and how they grow with
// the graph: a transformer and a deep MLP of some 1,000 to 50,000 nodes, which
// keep their activations or recompute them.
//
//   build/bench/compile [NODES ...]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "braid/compile/pipeline.h"
#include "braid/models/models.h"

namespace braid {
namespace {

using Clock = std::chrono::steady_clock;

struct Seconds {
  std::string pass;
  double seconds = 0;
};

// What one compilation took.
struct Report {
  size_t nodes = 0;  // of the step
  std::vector<Seconds> passes;

  double total() const {
    double sum = 0;
    for (const Seconds& pass : passes) sum += pass.seconds;
    return sum;
  }
};

double seconds_of(const auto& run) {
  auto begin = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The whole pipeline of a step on a CPU.
Report compile_step(const OpTable& ops, const std::string& model,
                    plan::Activations activations) {
  Report report;
  compile::StepSpec spec{.forward = Graph(ops),
                         .optimizer = passes::make_optimizer("adamw")};
  double building = seconds_of(
      [&] { spec.forward = models::build_model(ops, model, DType::kFloat32); });
  report.passes.push_back({"model", building});
  compile::BuiltStep built =
      compile::build_step(ops, spec, {.device = plan::cpu_device(1)},
                          [&](const compile::PassResult& made) {
                            report.passes.push_back({made.pass, made.seconds});
                          });
  report.nodes = built.step.graph.nodes().size();
  plan::Plan plan =
      plan::uniform(built.segments.size(), {.activations = activations}, 1);
  double planning = seconds_of([&] { plan::compile(ops, built.step, plan); });
  report.passes.push_back({compile::kProgramPass, planning});
  return report;
}

struct Case {
  const char* title;
  const char* model;  // with the number of layers left open
  plan::Activations activations;
};

constexpr Case kCases[] = {
    {"transformer, activations kept",
     "transformer_lm(batch=2,length=8,positions=8,vocab=32,width=8,heads=2,"
     "layers={})",
     plan::Activations::kKeep},
    {"transformer, activations recomputed",
     "transformer_lm(batch=2,length=8,positions=8,vocab=32,width=8,heads=2,"
     "layers={})",
     plan::Activations::kRecompute},
    {"MLP, activations kept",
     "mlp(batch=2,features=8,hidden=8,classes=4,layers={})",
     plan::Activations::kKeep},
};

std::string with_layers(const Case& of, int layers) {
  return fmt::format(fmt::runtime(of.model), layers);
}

// Layers with which the step has about so many nodes.
int layers_for(const OpTable& ops, const Case& of, double nodes) {
  auto count = [&](int layers) {
    Report report = compile_step(ops, with_layers(of, layers), of.activations);
    return static_cast<double>(report.nodes);
  };
  double few = count(4), more = count(8), each = (more - few) / 4;
  return std::max(1, static_cast<int>(std::lround((nodes - few) / each)) + 4);
}

void print_case(const OpTable& ops, const Case& of,
                const std::vector<double>& sizes) {
  std::vector<Report> reports;
  for (double nodes : sizes) {
    std::string model = with_layers(of, layers_for(ops, of, nodes));
    Report best = compile_step(ops, model, of.activations);
    for (int run = 0; run < 2; ++run) {
      Report again = compile_step(ops, model, of.activations);
      if (again.total() < best.total()) best = std::move(again);
    }
    reports.push_back(std::move(best));
  }
  fmt::print("{}\n  {:<12}", of.title, "nodes");
  for (const Report& report : reports) fmt::print("{:>10}", report.nodes);
  for (size_t i = 0; i < reports[0].passes.size(); ++i) {
    fmt::print("\n  {:<12}", reports[0].passes[i].pass);
    for (const Report& report : reports) {
      fmt::print("{:>8.3f} s", report.passes[i].seconds);
    }
  }
  fmt::print("\n  {:<12}", "in all");
  for (const Report& report : reports) fmt::print("{:>8.3f} s", report.total());
  fmt::print("\n  {:<12}", "per node");
  for (const Report& report : reports) {
    fmt::print("{:>7.2f} us",
               1e6 * report.total() / static_cast<double>(report.nodes));
  }
  // 1: twice the nodes take twice the time; 2: four times.
  fmt::print("\n  {:<12}{:>10}", "exponent", "");
  for (size_t i = 1; i < reports.size(); ++i) {
    double nodes = static_cast<double>(reports[i].nodes) /
                   static_cast<double>(reports[i - 1].nodes);
    double times = reports[i].total() / reports[i - 1].total();
    fmt::print("{:>10.2f}", std::log(times) / std::log(nodes));
  }
  fmt::print("\n");
}

}  // namespace
}  // namespace braid

int main(int count, char** words) {
  std::vector<double> sizes;
  for (int i = 1; i < count; ++i) sizes.push_back(std::stod(words[i]));
  if (sizes.empty()) sizes = {1000, 5000, 20000, 50000};
  braid::OpTable ops = braid::standard_ops();
  for (const braid::Case& of : braid::kCases) {
    braid::print_case(ops, of, sizes);
  }
}
