// PointNet (Qi et al. 2017) for classification and for segmentation, with the
// names of fxia22/pointnet.pytorch. Points are [N, C, P]: N clouds, C numbers
// of a point, P points. All widths are multiples of the first one's.
#include "braid/base/error.h"
#include "braid/models/families.h"
#include "braid/models/layers.h"

namespace braid::models {
namespace {

// The same linear layer for every point, and BatchNorm.
Var point_layer(Var x, int64_t outputs, int index) {
  x = conv1d(x, outputs, 1, fmt::format("conv{}", index));
  return batch_norm(x, fmt::format("bn{}", index));
}

Var max_over_points(Var x) { return max(x, 2).values; }

// A matrix [N, C, C] for each cloud, the identity at first.
Var t_net(Var x, int64_t width, std::string_view name) {
  PathScope scope(*x.graph, name);
  int64_t channels = x.dim(1);
  Var y = relu(point_layer(x, width, 1));
  y = relu(point_layer(y, 2 * width, 2));
  y = max_over_points(relu(point_layer(y, 16 * width, 3)));
  y = relu(batch_norm(linear(y, 8 * width, "fc1"), "bn4"));
  y = relu(batch_norm(linear(y, 4 * width, "fc2"), "bn5"));
  Init zero = Init::constant(0);
  y = linear(y, channels * channels, "fc3",
             {.begin = {.weight = zero, .bias = zero}});
  return add(reshape(y, {x.dim(0), channels, channels}),
             eye(x, channels, channels, x.dtype()));
}

Var transformed(Var x, Var matrix) {
  return transpose(bmm(transpose(x, 1, 2), matrix), 1, 2);
}

// Mean over clouds of |A A^T - I|^2.
Var regulariser(Var a) {
  Var unit = eye(a, a.dim(1), a.dim(1), a.dtype());
  Var d = sub(bmm(a, transpose(a, 1, 2)), unit);
  return mean(sum(square(d), {1, 2}), {0});
}

struct Features {
  Var points;   // [N, width, P]
  Var cloud;    // [N, 16 * width]
  Var penalty;  // of the feature transform, if there is one
};

Features features(Var x, int64_t width, bool transforms_features) {
  PathScope scope(*x.graph, "feat");
  Features f;
  x = transformed(x, t_net(x, width, "stn"));
  x = relu(point_layer(x, width, 1));
  if (transforms_features) {
    Var matrix = t_net(x, width, "fstn");
    x = transformed(x, matrix);
    f.penalty = regulariser(matrix);
  }
  f.points = x;
  x = relu(point_layer(x, 2 * width, 2));
  f.cloud = max_over_points(point_layer(x, 16 * width, 3));
  return f;
}

void add_loss(Graph& graph, Var logits, Var y, Var penalty, double weight) {
  Var loss = cross_entropy(logits, y);
  if (penalty) loss = add(loss, mul_scalar(penalty, weight));
  graph.add_output("loss", loss.id);
  graph.add_output("logits", logits.id);
}

Var points_input(Graph& graph, DType dtype, const SizeReader& size) {
  Shape shape{size("batch"), size("coordinates"), size("points")};
  return input(graph, "x", {dtype, shape});
}

Graph build_cls(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  int64_t width = size("width");
  Var x = points_input(graph, dtype, size);
  Var y = input(graph, "y", {DType::kInt64, {size("batch")}});
  Features f = features(x, width, size.flag("feature_transform"));
  x = relu(batch_norm(linear(f.cloud, 8 * width, "fc1"), "bn1"));
  x = linear(x, 4 * width, "fc2");
  x = dropout(x, size.number("dropout"), "dropout");
  x = linear(relu(batch_norm(x, "bn2")), size("classes"), "fc3");
  add_loss(graph, x, y, f.penalty, size.number("regulariser"));
  return graph;
}

Graph build_seg(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  int64_t batch = size("batch"), points = size("points"), width = size("width");
  Var x = points_input(graph, dtype, size);
  Var y = input(graph, "y", {DType::kInt64, {batch, points}});
  Features f = features(x, width, size.flag("feature_transform"));
  Var cloud = expand(unsqueeze(f.cloud, 2), {batch, 16 * width, points});
  x = cat({cloud, f.points}, 1);
  x = relu(point_layer(x, 8 * width, 1));
  x = relu(point_layer(x, 4 * width, 2));
  x = relu(point_layer(x, 2 * width, 3));
  x = transpose(conv1d(x, size("classes"), 1, "conv4"), 1, 2);
  add_loss(graph, x, y, f.penalty, size.number("regulariser"));
  return graph;
}

std::vector<Size> pointnet_sizes(double points, double classes,
                                 const char* outputs) {
  return {batch_size(8),
          {"coordinates", 3, "numbers of a point"},
          {"points", points, "of a cloud"},
          {"width", 64, "of the first layer; others have 2 to 16 times that"},
          {"classes", classes, outputs},
          {"feature_transform", 1, "1: a second T-Net, on features",
           Size::Kind::kFlag},
          {"regulariser", 0.001, "weight of |A A^T - I|^2 in the loss",
           Size::Kind::kFactor}};
}

}  // namespace

std::vector<Model> pointnet_models() {
  std::vector<Size> cls = pointnet_sizes(1024, 40, "outputs");
  cls.push_back(dropout_size(0.3, "share dropped before the last layer"));
  return {
      {"pointnet_cls", "PointNet (Qi et al. 2017), the class of a cloud",
       "x[batch, coordinates, points] float, y[batch] i64", cls, build_cls},
      {"pointnet_seg", "PointNet (Qi et al. 2017), the class of every point",
       "x[batch, coordinates, points] float, y[batch, points] i64",
       pointnet_sizes(2048, 50, "outputs of a point"), build_seg}};
}

}  // namespace braid::models
