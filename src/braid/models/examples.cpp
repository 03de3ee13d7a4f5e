// Small models for tests and first steps: a chain of residual blocks and a
// Transformer language model that normalises first.
#include "braid/base/error.h"
#include "braid/models/attention.h"
#include "braid/models/families.h"

namespace braid::models {
namespace {

Var conv3(Var x, int64_t channels, std::string_view name) {
  return conv2d(x, channels, 3, name,
                {.conv = {.padding = {1}}, .bias = false});
}

Var residual_block(Var x, int64_t channels, std::string_view name) {
  PathScope scope(*x.graph, name);
  Var y = relu(batch_norm(conv3(x, channels, "conv1"), "bn1"));
  y = batch_norm(conv3(y, channels, "conv2"), "bn2");
  return relu(add(x, y));
}

// A stem, residual blocks, average pooling, a linear head.
Graph build_resblock(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  int64_t side = size("side"), channels = size("channels");
  Var x = input(graph, "x", {dtype, {size("batch"), 3, side, side}});
  Var y = input(graph, "y", {DType::kInt64, {size("batch")}});
  x = relu(batch_norm(conv3(x, channels, "stem"), "stem_bn"));
  x = avg_pool2d(x, {.kernel = {2, 2}, .stride = {2, 2}});
  for (int64_t i = 0; i < size("blocks"); ++i) {
    x = residual_block(x, channels, fmt::format("blocks.{}", i));
  }
  x = dropout(x, size.number("dropout"), "drop");
  x = linear(mean(x, {2, 3}), size("classes"), "head");
  graph.add_output("loss", cross_entropy(x, y).id);
  graph.add_output("logits", x.id);
  return graph;
}

Var attention_layer(Var x, int64_t heads, double p) {
  PathScope scope(*x.graph, "attn");
  std::vector<Var> qkv = chunk(linear(x, 3 * x.dim(2), "qkv"), 3, 2);
  Var y = attend(qkv[0], qkv[1], qkv[2], {.heads = heads, .causal = true});
  return dropout(linear(y, x.dim(2), "proj"), p, "drop");
}

Var transformer_block(Var x, int64_t heads, double p, std::string_view name) {
  PathScope scope(*x.graph, name);
  int64_t width = x.dim(2);
  x = add(x, attention_layer(layer_norm(x, "ln1"), heads, p));
  Var y = gelu(linear(layer_norm(x, "ln2"), 4 * width, "fc1"));
  return add(x, dropout(linear(y, width, "fc2"), p, "drop"));
}

// tokens[N, T] predict targets[N, T].
Graph build_transformer(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  Shape tokens{size("batch"), size("length")};
  Var x = input(graph, "tokens", {DType::kInt64, tokens});
  Var y = input(graph, "targets", {DType::kInt64, tokens});
  Var h = embedding(x, size("vocab"), size("width"), "tok", dtype);
  h = add(h, parameter(graph, "pos", dtype, {size("length"), size("width")},
                       Init::normal(0.02)));
  for (int64_t i = 0; i < size("layers"); ++i) {
    h = transformer_block(h, size("heads"), size.number("dropout"),
                          fmt::format("blocks.{}", i));
  }
  h = linear(layer_norm(h, "ln"), size("vocab"), "head", {.bias = false});
  graph.add_output("loss", cross_entropy(h, y).id);
  graph.add_output("logits", h.id);
  return graph;
}

}  // namespace

std::vector<Model> example_models() {
  return {{"resblock",
           "a small example: residual blocks with BatchNorm",
           "x[batch, 3, side, side] float, y[batch] i64",
           {batch_size(16),
            {"channels", 16, "of every block"},
            {"side", 16, "pixels of a side"},
            {"blocks", 2, "residual blocks"},
            {"classes", 10, "outputs"},
            dropout_size(0, "share dropped before the head")},
           build_resblock},
          {"transformer",
           "a small example: causal Transformer language model",
           "tokens[batch, length] i64, targets[batch, length] i64",
           {batch_size(8),
            {"length", 32, "tokens of a sequence"},
            {"vocab", 64, "different tokens"},
            {"width", 64, "numbers of a token"},
            {"heads", 4, "of attention; divide width"},
            {"layers", 2, "blocks"},
            dropout_size(0, "share dropped before each residual sum")},
           build_transformer}};
}

}  // namespace braid::models
