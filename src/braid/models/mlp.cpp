// Fully connected layers. N batch, I features, C classes.
#include "braid/base/error.h"
#include "braid/models/families.h"
#include "braid/models/layers.h"

namespace braid::models {
namespace {

Graph build_mlp(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  Var x = input(graph, "x", {dtype, {size("batch"), size("features")}});
  Var y = input(graph, "y", {DType::kInt64, {size("batch")}});
  for (int64_t i = 0; i < size("layers"); ++i) {
    x = relu(linear(x, size("hidden"), fmt::format("layers.{}", i)));
    x = dropout(x, size.number("dropout"), fmt::format("drop.{}", i));
  }
  x = linear(x, size("classes"), "head");
  graph.add_output("loss", cross_entropy(x, y).id);
  graph.add_output("logits", x.id);
  return graph;
}

}  // namespace

std::vector<Model> mlp_models() {
  return {{"mlp",
           "fully connected layers with ReLU",
           "x[batch, features] float, y[batch] i64",
           {batch_size(16),
            {"features", 16, "numbers of a sample"},
            {"hidden", 32, "units of a hidden layer"},
            {"layers", 2, "hidden layers"},
            {"classes", 4, "outputs"},
            dropout_size(0, "share dropped after each hidden layer")},
           build_mlp}};
}

}  // namespace braid::models
