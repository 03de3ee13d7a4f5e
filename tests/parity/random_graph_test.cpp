// Random graphs: libtorch, repeats, arrays, text and plans all agree. Seeds
// are fixed; BRAID_TEST_LONG=1 runs 2,000 in f64 and 500 in f32.
// BRAID_GRAPH_SEED=n runs one, or BRAID_GRAPH_COUNT=m of them from there.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "braid/compile/pipeline.h"
#include "braid/graph/text.h"
#include "random_graph_check.h"

namespace braid::parity {
namespace {

std::string text_of(const RandomGraph& graph) {
  try {
    return print_graph(build_graph(standard_ops(), graph));
  } catch (const std::exception& error) {
    return error.what();
  }
}

// "value: step(operands)" of every step.
std::string steps_of(const RandomGraph& graph) {
  std::string text;
  size_t value = 0;
  for (const auto& item : graph.items) {
    if (const Given* given = std::get_if<Given>(&item)) {
      text += fmt::format("{}: {} {}\n", value++, given->name,
                          shape_text(given->type.shape));
      continue;
    }
    const Step& step = std::get<Step>(item);
    text += fmt::format("{}: {}({})\n", value, step.name,
                        fmt::join(step.operands, ", "));
    value += step.types.size();
  }
  return text;
}

void check(uint64_t seed, DType dtype) {
  RandomGraph graph = make_random_graph(seed, dtype);
  std::string problem = check_random_graph(graph, seed);
  if (problem.empty()) return;
  RandomGraph small = shrink(graph, seed);
  ADD_FAILURE() << "seed " << seed << " " << dtype_name(dtype) << ": "
                << problem << "\n"
                << text_of(graph)
                << "made smaller: " << check_random_graph(small, seed) << "\n"
                << steps_of(small) << text_of(small);
}

uint64_t number_of(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : fallback;
}

class RandomGraphs : public testing::TestWithParam<DType> {};

TEST_P(RandomGraphs, AgreeWithLibtorchInEveryWay) {
  if (std::getenv("BRAID_GRAPH_SEED")) {
    uint64_t seed = number_of("BRAID_GRAPH_SEED", 0);
    uint64_t last = seed + number_of("BRAID_GRAPH_COUNT", 1);
    for (; seed < last; ++seed) check(seed, GetParam());
    return;
  }
  bool in_full = std::getenv("BRAID_TEST_LONG") != nullptr;
  bool wide = GetParam() == DType::kFloat64;
  uint64_t first = wide ? 0 : 10000, count = wide ? 100 : 50;
  if (in_full) count = wide ? 2000 : 500;
  for (uint64_t i = 0; i < count; ++i) check(first + i, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Types, RandomGraphs,
                         testing::Values(DType::kFloat64, DType::kFloat32),
                         [](const auto& made) {
                           return std::string(dtype_name(made.param));
                         });

// So what is checked above is checked for fusions.
TEST(RandomGraphFusions, MostStepsHaveSome) {
  constexpr uint64_t kSeeds = 40;
  OpTable ops = standard_ops();
  uint64_t found = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    RandomGraph graph = make_random_graph(seed, DType::kFloat64);
    Graph step =
        compile::build_step(ops,
                            {.forward = build_graph(ops, graph),
                             .optimizer = passes::make_optimizer("sgd")},
                            {.device = plan::cpu_device(1)})
            .step.graph;
    found +=
        std::ranges::count(step.nodes(), ops.find("fusion"), &Node::op) > 0;
  }
  EXPECT_GT(found, kSeeds / 2);
}

}  // namespace
}  // namespace braid::parity
