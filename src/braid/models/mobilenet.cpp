// MobileNetV3-Large (Howard et al. 2019) with the names of torchvision.
#include <algorithm>

#include "braid/base/error.h"
#include "braid/models/families.h"
#include "braid/models/layers.h"

namespace braid::models {
namespace {

// An inverted residual block of table 1 of the paper.
struct Block {
  int64_t kernel, expanded, outputs;
  bool squeeze, hardswish;
  int64_t stride;
};
constexpr Block kLarge[] = {
    {3, 16, 16, false, false, 1}, {3, 64, 24, false, false, 2},
    {3, 72, 24, false, false, 1}, {5, 72, 40, true, false, 2},
    {5, 120, 40, true, false, 1}, {5, 120, 40, true, false, 1},
    {3, 240, 80, false, true, 2}, {3, 200, 80, false, true, 1},
    {3, 184, 80, false, true, 1}, {3, 184, 80, false, true, 1},
    {3, 480, 112, true, true, 1}, {3, 672, 112, true, true, 1},
    {5, 672, 160, true, true, 2}, {5, 960, 160, true, true, 1},
    {5, 960, 160, true, true, 1},
};

const Init kFanOut{Init::Kind::kKaimingNormal, 0, 1};
const Init kZero = Init::constant(0);

// The nearest multiple of 8 that is not more than a tenth below.
int64_t divisible(double channels) {
  auto near = static_cast<int64_t>(channels + 4) / 8 * 8;
  near = std::max<int64_t>(near, 8);
  return static_cast<double>(near) < 0.9 * channels ? near + 8 : near;
}

struct Step {
  int64_t outputs, kernel, stride, groups;
};

// Convolution .0 and BatchNorm .1 at a path of their own.
Var conv_norm(Var x, Step step, std::string_view name) {
  PathScope scope(*x.graph, name);
  Conv options{.stride = {step.stride},
               .padding = {step.kernel / 2},
               .groups = step.groups};
  x = conv2d(x, step.outputs, step.kernel, "0",
             {.conv = options, .bias = false, .begin = {.weight = kFanOut}});
  return batch_norm(x, "1", {.momentum = 0.01, .eps = 1e-3});
}

// Channels scaled by what the whole image says of them.
Var squeeze_excite(Var x, std::string_view name) {
  PathScope scope(*x.graph, name);
  ConvOptions options{.begin = {.weight = kFanOut, .bias = kZero}};
  int64_t channels = x.dim(1);
  Var s = adaptive_avg_pool2d(x, {1, 1});
  int64_t quarter = channels / 4;
  s = relu(
      conv2d(s, divisible(static_cast<double>(quarter)), 1, "fc1", options));
  s = hardsigmoid(conv2d(s, channels, 1, "fc2", options));
  return mul(s, x);
}

Var inverted_residual(Var x, const Block& block, double width) {
  auto scaled = [&](int64_t channels) {
    return divisible(static_cast<double>(channels) * width);
  };
  auto act = [&](Var v) { return block.hardswish ? hardswish(v) : relu(v); };
  int64_t expanded = scaled(block.expanded), outputs = scaled(block.outputs);
  int part = 0;
  auto next = [&] { return fmt::format("block.{}", part++); };
  Var y = x;
  if (expanded != x.dim(1)) y = act(conv_norm(y, {expanded, 1, 1, 1}, next()));
  y = act(
      conv_norm(y, {expanded, block.kernel, block.stride, expanded}, next()));
  if (block.squeeze) y = squeeze_excite(y, next());
  y = conv_norm(y, {outputs, 1, 1, 1}, next());
  return block.stride == 1 && outputs == x.dim(1) ? add(y, x) : y;
}

Var classifier(Var x, const SizeReader& size) {
  auto options =
      LinearOptions{.begin = {.weight = Init::normal(0.01), .bias = kZero}};
  int64_t hidden = divisible(1280 * size.number("width"));
  x = hardswish(linear(x, hidden, "classifier.0", options));
  x = dropout(x, size.number("dropout"), "classifier.2");
  return linear(x, size("classes"), "classifier.3", options);
}

Graph build_large(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  int64_t side = size("side");
  double width = size.number("width");
  Var x =
      input(graph, "x", {dtype, {size("batch"), size("channels"), side, side}});
  Var y = input(graph, "y", {DType::kInt64, {size("batch")}});
  int part = 0;
  auto next = [&] { return fmt::format("features.{}", part++); };
  x = hardswish(conv_norm(x, {divisible(16 * width), 3, 2, 1}, next()));
  for (const Block& block : kLarge) {
    PathScope scope(graph, next());
    x = inverted_residual(x, block, width);
  }
  x = hardswish(conv_norm(x, {6 * x.dim(1), 1, 1, 1}, next()));
  x = classifier(flatten(adaptive_avg_pool2d(x, {1, 1})), size);
  graph.add_output("loss", cross_entropy(x, y).id);
  graph.add_output("logits", x.id);
  return graph;
}

}  // namespace

std::vector<Model> mobilenet_models() {
  return {
      {"mobilenet_v3_large",
       "MobileNetV3-Large (Howard et al. 2019), as in torchvision",
       "x[batch, channels, side, side] float, y[batch] i64",
       {batch_size(8),
        {"channels", 3, "of an image"},
        {"side", 224, "pixels of a side"},
        {"width", 1, "factor of all numbers of channels", Size::Kind::kFactor},
        {"classes", 1000, "outputs"},
        dropout_size(0.2, "share dropped before the last layer")},
       build_large}};
}

}  // namespace braid::models
