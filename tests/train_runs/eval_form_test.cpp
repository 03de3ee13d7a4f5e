// Values of eval forms on real kernels.
#include "braid/passes/rewrite/eval_form.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "braid/models/models.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/forward_run.h"
#include "kernels.h"
#include "passes/text_graphs.h"
#include "train/batches.h"

namespace braid::passes {
namespace {

template <class T>
std::vector<T> values(const std::vector<std::byte>& bytes) {
  std::vector<T> made(bytes.size() / sizeof(T));
  std::memcpy(made.data(), bytes.data(), bytes.size());
  return made;
}

void write(runtime::State& state, const std::string& name,
           const std::vector<double>& content) {
  state.write(state.find(name), std::as_bytes(std::span(content)));
}

TEST(EvalFormValues, BatchNormIsThatOfItsRunningStatistics) {
  Graph graph = eval_form(table(), graph_of(R"(
    slot "w" f64[2] parameter constant(1.0)
    slot "b" f64[2] parameter constant(0.0)
    slot "mean" f64[2] buffer constant(0.0)
    slot "var" f64[2] buffer constant(1.0)
    input %0 "x" f64[3, 2]
    %1: f64[2] = read "w"
    %2: f64[2] = read "b"
    %3: f64[2] = read "mean"
    %4: f64[2] = read "var"
    %5: f64[3, 2], %6: f64[2], %7: f64[2], %8: f64[2], %9: f64[2] = \
      batch_norm(%0, %1, %2, %3, %4) {eps=1e-3, momentum=0.1, training=true}
    assign "mean" (%8)
    assign "var" (%9)
    output "y" %5
  )"));
  runtime::CpuBackend backend(kernels(), {});
  runtime::ForwardRun run(table(), graph, backend);
  const std::vector<double> w{2, -1}, b{0.5, 1}, mean{3, -2}, var{4, 0.25};
  write(run.state(), "w", w);
  write(run.state(), "b", b);
  write(run.state(), "mean", mean);
  write(run.state(), "var", var);
  const std::vector<double> x{1, 2, 3, 4, 5, 6};
  run.executor().step([&](int64_t, ValueId) {
    return reinterpret_cast<const std::byte*>(x.data());
  });
  std::vector<double> y = values<double>(run.executor().output("y"));
  for (size_t i = 0; i < x.size(); ++i) {
    size_t c = i % 2;
    double expected = w[c] * (x[i] - mean[c]) / std::sqrt(var[c] + 1e-3) + b[c];
    EXPECT_NEAR(y[i], expected, 1e-12);
  }
  EXPECT_EQ(values<double>(run.state().read(run.state().find("mean"))), mean);
}

// Weights that are nowhere zero, by name.
void fill_parameters(runtime::State& state) {
  for (const Slot& slot : state.slots()) {
    if (slot.role != Role::kParameter) continue;
    ElementRandom random(4, slot.name);
    std::vector<double> content(static_cast<size_t>(num_elements(slot.shape)));
    for (size_t i = 0; i < content.size(); ++i) {
      content[i] = 0.3 * random.normal(i);
    }
    write(state, slot.name, content);
  }
}

// All outputs of a graph on one batch.
std::vector<double> outputs_of(const Graph& graph) {
  runtime::CpuBackend backend(kernels(), {});
  runtime::ForwardRun run(table(), graph, backend);
  run.state().initialise(std::vector<int64_t>{4});
  fill_parameters(run.state());
  Batches batches(run.graph(), {});
  run.executor().step([&](int64_t micro, ValueId input) {
    return batches.input(0, micro, input);
  });
  std::vector<double> all;
  for (const Output& output : graph.outputs()) {
    std::vector<double> one =
        values<double>(run.executor().output(output.name));
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

// Dropout in front of layers, between layers of an lstm, on the weights of
// attention: what is left is the model without it.
class ModelsThatDrop : public testing::TestWithParam<std::string> {
 protected:
  static Graph build(const std::string& model, double p) {
    models::Sizes sizes{{"dropout", p}};
    bool attends = model.starts_with("vit") || model.starts_with("gpt2");
    if (attends) sizes["attention_dropout"] = p;
    return models::build_with_outputs(table(), model, DType::kFloat64, sizes);
  }
};

TEST_P(ModelsThatDrop, AreTheModelWithoutDropout) {
  Graph dropping = build(GetParam(), 0.5);
  std::vector<double> plain = outputs_of(build(GetParam(), 0));
  EXPECT_NE(outputs_of(dropping), plain) << "nothing was dropped";
  std::vector<double> eval = outputs_of(eval_form(table(), dropping));
  ASSERT_EQ(eval.size(), plain.size());
  // Attention without dropout is one op, and rounds otherwise.
  for (size_t i = 0; i < eval.size(); ++i)
    EXPECT_NEAR(eval[i], plain[i], 1e-12);
}

std::string name_of(const testing::TestParamInfo<std::string>& model) {
  return model.param.substr(0, model.param.find('('));
}
INSTANTIATE_TEST_SUITE_P(
    Models, ModelsThatDrop,
    testing::Values("mlp(batch=4,features=5,hidden=7,layers=3,classes=3)",
                    "lenet(batch=2,side=12,classes=3)",
                    "vit(batch=2,side=8,patch=4,width=6,heads=2,layers=2,"
                    "classes=3)",
                    "transformer_lm(batch=2,length=5,positions=7,vocab=11,"
                    "width=6,heads=2,layers=2)",
                    "lstm_lm(batch=2,length=5,vocab=11,width=6,hidden=6,"
                    "layers=2)"),
    name_of);

}  // namespace
}  // namespace braid::passes
