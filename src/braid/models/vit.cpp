// Vision Transformer (Dosovitskiy et al. 2020) with the names of torchvision.
// N batch, T patches, D width.
#include <cmath>

#include "braid/base/error.h"
#include "braid/models/attention.h"
#include "braid/models/families.h"

namespace braid::models {
namespace {

constexpr double kEps = 1e-6;
const Init kZero = Init::constant(0);

struct Rates {
  double dropout, attention;
};

Var feed_forward(Var x, int64_t units, double p) {
  PathScope scope(*x.graph, "mlp");
  LinearOptions options{.begin = {.weight = {{Init::Kind::kXavierUniform, 1}},
                                  .bias = Init::normal(1e-6)}};
  int64_t width = x.dim(2);
  x = dropout(gelu(linear(x, units, "0", options)), p, "2");
  return dropout(linear(x, width, "3", options), p, "4");
}

Var encoder_layer(Var x, int64_t heads, int64_t units, Rates rates) {
  Var y = self_attention(layer_norm(x, "ln_1", kEps), "self_attention",
                         {.heads = heads, .dropout = rates.attention});
  x = add(x, dropout(y, rates.dropout, "dropout"));
  return add(x,
             feed_forward(layer_norm(x, "ln_2", kEps), units, rates.dropout));
}

// [N, C, H, W] -> [N, T, D].
Var patches(Var x, int64_t patch, int64_t width) {
  if (x.dim(2) % patch != 0) {
    fail_usage("[model] vit: a side of {} cannot be cut into patches of {}",
               x.dim(2), patch);
  }
  double inputs = static_cast<double>(x.dim(1) * patch * patch);
  Init begin{Init::Kind::kTruncNormal, 0, 1 / std::sqrt(inputs), -2, 2};
  x = conv2d(
      x, width, patch, "conv_proj",
      {.conv = {.stride = {patch}}, .begin = {.weight = begin, .bias = kZero}});
  return transpose(flatten(x, 2), 1, 2);
}

Var encoder(Var x, const SizeReader& size) {
  Graph& graph = *x.graph;
  PathScope scope(graph, "encoder");
  Rates rates{size.number("dropout"), size.number("attention_dropout")};
  Shape table{1, x.dim(1), x.dim(2)};
  x = add(x, parameter(graph, "pos_embedding", x.dtype(), table,
                       Init::normal(0.02)));
  x = dropout(x, rates.dropout, "dropout");
  for (int64_t i = 0; i < size("layers"); ++i) {
    PathScope layer(graph, fmt::format("layers.encoder_layer_{}", i));
    x = encoder_layer(x, size("heads"), feed_of(size), rates);
  }
  return layer_norm(x, "ln", kEps);
}

Graph build_vit(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  int64_t batch = size("batch"), side = size("side"), width = size("width");
  Var x = input(graph, "x", {dtype, {batch, size("channels"), side, side}});
  Var y = input(graph, "y", {DType::kInt64, {batch}});
  x = patches(x, size("patch"), width);
  Var token = parameter(graph, "class_token", dtype, {1, 1, width}, kZero);
  x = encoder(cat({expand(token, {batch, 1, width}), x}, 1), size);
  x = linear(select(x, 1, 0), size("classes"), "heads.head",
             {.begin = {.weight = kZero, .bias = kZero}});
  graph.add_output("loss", cross_entropy(x, y).id);
  graph.add_output("logits", x.id);
  return graph;
}

}  // namespace

std::vector<Model> vit_models() {
  return {{"vit",
           "Vision Transformer (Dosovitskiy et al. 2020), B/16 by default, as "
           "in torchvision",
           "x[batch, channels, side, side] float, y[batch] i64",
           {batch_size(4),
            {"channels", 3, "of an image"},
            {"side", 224, "pixels of a side; a multiple of patch"},
            {"patch", 16, "pixels of a patch's side"},
            {"width", 768, "numbers of a patch"},
            {"heads", 12, "of attention; divide width"},
            {"layers", 12, "encoder layers"},
            feed_size(),
            {"classes", 1000, "outputs"},
            dropout_size(0.1, "share dropped after embedding and layers"),
            {"attention_dropout", 0, "share of attention weights dropped",
             Size::Kind::kRate}},
           build_vit}};
}

}  // namespace braid::models
