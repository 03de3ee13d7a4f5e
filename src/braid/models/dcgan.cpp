// DCGAN (Radford et al. 2015): generator and discriminator, each a model of
// its own, with the names of PyTorch's example. Sides double or halve from
// layer to layer, so they are powers of two.
#include <bit>

#include "braid/base/error.h"
#include "braid/models/families.h"
#include "braid/models/layers.h"

namespace braid::models {
namespace {

const Conv kFirst{};                                // 1 <-> 4 pixels
const Conv kDouble{.stride = {2}, .padding = {1}};  // n <-> 2 n

ConvOptions options(const Conv& conv) {
  return {.conv = conv, .bias = false, .begin = {.weight = Init::normal(0.02)}};
}

// How often the side doubles between 4 pixels and the image.
int64_t doublings(int64_t side) {
  if (side < 8 || !std::has_single_bit(static_cast<uint64_t>(side))) {
    fail_usage("[model] dcgan: a side is 8, 16, 32 and so on, not {}", side);
  }
  return std::countr_zero(static_cast<uint64_t>(side)) - 2;
}

// Layers are numbered as in one nn.Sequential called main.
std::string layer(int64_t index) { return fmt::format("main.{}", index); }

Var norm(Var x, int64_t index) {
  Init weight{Init::Kind::kNormal, 1, 0.02};
  return batch_norm(x, layer(index), {.begin = {.weight = weight}});
}

// z[N, Z, 1, 1] to images [N, C, S, S] between -1 and 1.
Var generate(Var z, int64_t channels, int64_t side, int64_t width) {
  int64_t stages = doublings(side), index = 0;
  Var x = z;
  for (int64_t stage = stages - 1; stage >= 0; --stage, index += 3) {
    const Conv& conv = index == 0 ? kFirst : kDouble;
    x = conv_transpose2d(x, width << stage, 4, layer(index), options(conv));
    x = relu(norm(x, index + 1));
  }
  return tanh(conv_transpose2d(x, channels, 4, layer(index), options(kDouble)));
}

// Images to the chance [N] that each is real.
Var discriminate(Var x, int64_t side, int64_t width) {
  int64_t stages = doublings(side), index = 2;
  x = leaky_relu(conv2d(x, width, 4, layer(0), options(kDouble)), 0.2);
  for (int64_t stage = 1; stage < stages; ++stage, index += 3) {
    x = conv2d(x, width << stage, 4, layer(index), options(kDouble));
    x = leaky_relu(norm(x, index + 1), 0.2);
  }
  x = sigmoid(conv2d(x, 1, 4, layer(index), options(kFirst)));
  return reshape(x, {x.dim(0)});
}

// The loss compares the image, brought to 0 ... 1, with x pixel by pixel.
Graph build_generator(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  int64_t batch = size("batch"), side = size("side");
  Var z = input(graph, "z", {dtype, {batch, size("latent"), 1, 1}});
  Var x = input(graph, "x", {dtype, {batch, size("channels"), side, side}});
  Var image = generate(z, size("channels"), side, size("width"));
  Var shares = mul_scalar(add_scalar(image, 1), 0.5);
  graph.add_output("loss", binary_cross_entropy(shares, x).id);
  graph.add_output("image", image.id);
  return graph;
}

Graph build_discriminator(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  int64_t batch = size("batch"), side = size("side");
  Var x = input(graph, "x", {dtype, {batch, size("channels"), side, side}});
  Var y = input(graph, "y", {dtype, {batch}});
  Var real = discriminate(x, side, size("width"));
  graph.add_output("loss", binary_cross_entropy(real, y).id);
  graph.add_output("real", real.id);
  return graph;
}

std::vector<Size> dcgan_sizes() {
  return {batch_size(32),
          {"channels", 3, "of an image"},
          {"side", 64, "pixels of a side; a power of two from 8"},
          {"width", 64, "channels next to the image; they double inwards"}};
}

}  // namespace

std::vector<Model> dcgan_models() {
  std::vector<Size> generator = dcgan_sizes();
  generator.push_back({"latent", 100, "numbers that an image is made from"});
  return {{"dcgan_generator",
           "DCGAN (Radford et al. 2015), generator; BCE with images from 0 to "
           "1",
           "z[batch, latent, 1, 1] float, x[batch, channels, side, side] float",
           generator, build_generator},
          {"dcgan_discriminator",
           "DCGAN (Radford et al. 2015), discriminator; BCE with 1 for real",
           "x[batch, channels, side, side] float, y[batch] float",
           dcgan_sizes(), build_discriminator}};
}

}  // namespace braid::models
