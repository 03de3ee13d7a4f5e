// ResNet (He et al. 2015) with the names of torchvision: the stride of a
// bottleneck lies in its 3 x 3 convolution.
#include <array>

#include "braid/base/error.h"
#include "braid/models/families.h"
#include "braid/models/layers.h"

namespace braid::models {
namespace {

struct Design {
  std::array<int64_t, 4> blocks;  // of each stage
  bool bottleneck;
};
constexpr Design kResNet18{{2, 2, 2, 2}, false};
constexpr Design kResNet50{{3, 4, 6, 3}, true};

const Init kFanOut{Init::Kind::kKaimingNormal, 0, 1};

struct Step {
  int64_t outputs, kernel, stride;
};

// A convolution that keeps the sides up to its stride, and BatchNorm.
Var conv_norm(Var x, Step step, std::string_view conv, std::string_view norm) {
  Conv options{.stride = {step.stride}, .padding = {step.kernel / 2}};
  x = conv2d(x, step.outputs, step.kernel, conv,
             {.conv = options, .bias = false, .begin = {.weight = kFanOut}});
  return batch_norm(x, norm);
}

Var basic_path(Var x, int64_t width, int64_t stride) {
  x = relu(conv_norm(x, {width, 3, stride}, "conv1", "bn1"));
  return conv_norm(x, {width, 3, 1}, "conv2", "bn2");
}

Var bottleneck_path(Var x, int64_t width, int64_t stride) {
  x = relu(conv_norm(x, {width, 1, 1}, "conv1", "bn1"));
  x = relu(conv_norm(x, {width, 3, stride}, "conv2", "bn2"));
  return conv_norm(x, {4 * width, 1, 1}, "conv3", "bn3");
}

Var residual_block(Var x, int64_t width, int64_t stride, bool bottleneck) {
  Var y = bottleneck ? bottleneck_path(x, width, stride)
                     : basic_path(x, width, stride);
  if (stride != 1 || x.dim(1) != y.dim(1)) {
    x = conv_norm(x, {y.dim(1), 1, stride}, "downsample.0", "downsample.1");
  }
  return relu(add(y, x));
}

// As in the paper for images of ImageNet, or that of small ones, which keeps
// their sides.
Var stem(Var x, int64_t width, bool is_small) {
  if (is_small) return relu(conv_norm(x, {width, 3, 1}, "conv1", "bn1"));
  x = relu(conv_norm(x, {width, 7, 2}, "conv1", "bn1"));
  return max_pool2d(x, {.kernel = {3}, .stride = {2}, .padding = {1}});
}

Graph build(const OpTable& ops, DType dtype, const Sizes& sizes,
            const Design& design) {
  SizeReader size(sizes);
  Graph graph(ops);
  int64_t side = size("side"), width = size("width");
  Var x =
      input(graph, "x", {dtype, {size("batch"), size("channels"), side, side}});
  Var y = input(graph, "y", {DType::kInt64, {size("batch")}});
  x = stem(x, width, size.flag("small_stem"));
  for (size_t stage = 0; stage < 4; ++stage) {
    for (int64_t i = 0; i < design.blocks[stage]; ++i) {
      PathScope scope(graph, fmt::format("layer{}.{}", stage + 1, i));
      x = residual_block(x, width << stage, stage > 0 && i == 0 ? 2 : 1,
                         design.bottleneck);
    }
  }
  x = linear(mean(x, {2, 3}), size("classes"), "fc");
  graph.add_output("loss", cross_entropy(x, y).id);
  graph.add_output("logits", x.id);
  return graph;
}

Graph build_resnet18(const OpTable& ops, DType dtype, const Sizes& sizes) {
  return build(ops, dtype, sizes, kResNet18);
}

Graph build_resnet50(const OpTable& ops, DType dtype, const Sizes& sizes) {
  return build(ops, dtype, sizes, kResNet50);
}

std::vector<Size> resnet_sizes() {
  return {batch_size(8),
          {"channels", 3, "of an image"},
          {"side", 224, "pixels of a side"},
          {"width", 64, "channels of the first stage; each has twice as many"},
          {"classes", 1000, "outputs"},
          {"small_stem", 0,
           "1: the first layer is 3x3 without pooling, for images like CIFAR's",
           Size::Kind::kFlag}};
}

}  // namespace

std::vector<Model> resnet_models() {
  const char* inputs = "x[batch, channels, side, side] float, y[batch] i64";
  return {{"resnet18", "ResNet-18 (He et al. 2015), as in torchvision", inputs,
           resnet_sizes(), build_resnet18},
          {"resnet50", "ResNet-50 (He et al. 2015), as in torchvision", inputs,
           resnet_sizes(), build_resnet50}};
}

}  // namespace braid::models
