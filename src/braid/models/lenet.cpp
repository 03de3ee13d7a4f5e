// LeNet-5 (LeCun et al. 1998) with max pooling and ReLU.
#include "braid/models/families.h"
#include "braid/models/layers.h"

namespace braid::models {
namespace {

Graph build_lenet(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  int64_t side = size("side");
  Var x =
      input(graph, "x", {dtype, {size("batch"), size("channels"), side, side}});
  Var y = input(graph, "y", {DType::kInt64, {size("batch")}});
  Pool half{.kernel = {2, 2}, .stride = {2, 2}};
  x = conv2d(x, 6, 5, "conv1", {.conv = {.padding = {2}}});
  x = max_pool2d(relu(x), half);
  x = max_pool2d(relu(conv2d(x, 16, 5, "conv2")), half);
  x = relu(linear(flatten(x), 120, "fc1"));
  x = dropout(x, size.number("dropout"), "drop");
  x = relu(linear(x, 84, "fc2"));
  x = linear(x, size("classes"), "fc3");
  graph.add_output("loss", cross_entropy(x, y).id);
  graph.add_output("logits", x.id);
  return graph;
}

}  // namespace

std::vector<Model> lenet_models() {
  return {{"lenet",
           "LeNet-5 with max pooling",
           "x[batch, channels, side, side] float, y[batch] i64",
           {batch_size(64),
            {"channels", 1, "of an image"},
            {"side", 28, "pixels of a side; at least 12"},
            {"classes", 10, "outputs"},
            dropout_size(0, "share dropped after fc1")},
           build_lenet}};
}

}  // namespace braid::models
