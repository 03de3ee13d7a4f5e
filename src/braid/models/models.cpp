#include "braid/models/models.h"

#include <charconv>
#include <cmath>

#include "braid/base/text.h"
#include "braid/models/layers.h"

namespace braid::models {
namespace {

// Reads sizes that are whole numbers.
class SizeReader {
 public:
  explicit SizeReader(const Sizes& sizes) : sizes_(sizes) {}
  int64_t operator()(const char* name) const {
    return static_cast<int64_t>(sizes_.at(name));
  }
  double number(const char* name) const { return sizes_.at(name); }

 private:
  const Sizes& sizes_;
};

// N batch, I features, C classes.
Graph build_mlp(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  Var x = input(graph, "x", {dtype, {size("batch"), size("features")}});
  Var y = input(graph, "y", {DType::kInt64, {size("batch")}});
  for (int64_t i = 0; i < size("layers"); ++i) {
    x = relu(linear(x, size("hidden"), fmt::format("layers.{}", i)));
    if (size.number("dropout") > 0) {
      x = dropout(x, size.number("dropout"), fmt::format("drop.{}", i));
    }
  }
  x = linear(x, size("classes"), "head");
  graph.add_output("loss", cross_entropy(x, y).id);
  return graph;
}

// LeNet-5 with max pooling, on [N, 1, 28, 28].
Graph build_lenet(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  int64_t side = size("side");
  Var x =
      input(graph, "x", {dtype, {size("batch"), size("channels"), side, side}});
  Var y = input(graph, "y", {DType::kInt64, {size("batch")}});
  Pool2d half{.kernel = {2, 2}, .stride = {2, 2}};
  x = max_pool2d(relu(conv2d(x, 6, 5, "conv1", 1, 2)), half);
  x = max_pool2d(relu(conv2d(x, 16, 5, "conv2")), half);
  x = relu(linear(flatten(x), 120, "fc1"));
  if (size.number("dropout") > 0)
    x = dropout(x, size.number("dropout"), "drop");
  x = relu(linear(x, 84, "fc2"));
  x = linear(x, size("classes"), "fc3");
  graph.add_output("loss", cross_entropy(x, y).id);
  return graph;
}

Var residual_block(Var x, int64_t channels, std::string_view name) {
  PathScope scope(*x.graph, name);
  Var y = relu(batch_norm(conv2d(x, channels, 3, "conv1", 1, 1, false), "bn1"));
  y = batch_norm(conv2d(y, channels, 3, "conv2", 1, 1, false), "bn2");
  return relu(add(x, y));
}

// A stem, residual blocks with BatchNorm, average pooling, regression or
// classification by a linear head.
Graph build_resblock(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  int64_t side = size("side"), channels = size("channels");
  Var x = input(graph, "x", {dtype, {size("batch"), 3, side, side}});
  Var y = input(graph, "y", {DType::kInt64, {size("batch")}});
  x = relu(batch_norm(conv2d(x, channels, 3, "stem", 1, 1, false), "stem_bn"));
  x = avg_pool2d(x, {.kernel = {2, 2}, .stride = {2, 2}});
  for (int64_t i = 0; i < size("blocks"); ++i) {
    x = residual_block(x, channels, fmt::format("blocks.{}", i));
  }
  if (size.number("dropout") > 0)
    x = dropout(x, size.number("dropout"), "drop");
  x = linear(mean(x, {2, 3}), size("classes"), "head");
  graph.add_output("loss", cross_entropy(x, y).id);
  return graph;
}

// x[N, T, D] -> heads [N, H, T, D / H].
Var split_heads(Var x, int64_t heads) {
  Shape split{x.dim(0), x.dim(1), heads, x.dim(2) / heads};
  return transpose(reshape(x, split), 1, 2);
}

Var attention_layer(Var x, int64_t heads, double p) {
  PathScope scope(*x.graph, "attn");
  int64_t width = x.dim(2);
  Var qkv = linear(x, 3 * width, "qkv");
  auto part = [&](int64_t i) {
    return split_heads(slice(qkv, 2, i * width, (i + 1) * width), heads);
  };
  Var y = attention(part(0), part(1), part(2), true);
  y = linear(flatten(transpose(y, 1, 2), 2), width, "proj");
  return p > 0 ? dropout(y, p, "drop") : y;
}

Var transformer_block(Var x, int64_t heads, double p, std::string_view name) {
  PathScope scope(*x.graph, name);
  int64_t width = x.dim(2);
  x = add(x, attention_layer(layer_norm(x, "ln1"), heads, p));
  Var y = gelu(linear(layer_norm(x, "ln2"), 4 * width, "fc1"));
  y = linear(y, width, "fc2");
  return add(x, p > 0 ? dropout(y, p, "drop") : y);
}

// A causal language model: tokens[N, T] predict targets[N, T].
Graph build_transformer(const OpTable& ops, DType dtype, const Sizes& sizes) {
  SizeReader size(sizes);
  Graph graph(ops);
  Shape tokens{size("batch"), size("length")};
  Var x = input(graph, "tokens", {DType::kInt64, tokens});
  Var y = input(graph, "targets", {DType::kInt64, tokens});
  Var h = embedding(x, size("vocab"), size("width"), "tok", dtype);
  h = add(h, position_table(graph, dtype, size("length"), size("width")));
  for (int64_t i = 0; i < size("layers"); ++i) {
    h = transformer_block(h, size("heads"), size.number("dropout"),
                          fmt::format("blocks.{}", i));
  }
  h = linear(layer_norm(h, "ln"), size("vocab"), "head", false);
  graph.add_output("loss", cross_entropy(h, y).id);
  return graph;
}

const Model* find_model(std::string_view name) {
  for (const Model& model : all_models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

std::string_view name_part(std::string_view text) {
  return text.substr(0, text.find('('));
}

void set_size(const Model& model, Sizes& sizes, const std::string& key,
              double value) {
  if (!model.defaults.contains(key)) {
    std::vector<std::string> known;
    for (const auto& [name, unused] : model.defaults) known.push_back(name);
    fail_usage("[model] {} has no size '{}'\nHINT: did you mean '{}'?",
               model.name, key, nearest_name(key, known));
  }
  bool whole = value == std::floor(value) && value < 0x1.0p62;
  bool fits = key == "dropout" ? value >= 0 && value <= 1 : whole && value >= 1;
  if (!fits) {
    fail_usage("[model] {}: '{}' = {} is no size", model.name, key, value);
  }
  sizes[key] = value;
}

// "(hidden=64,classes=4)"
void read_sizes(std::string_view text, const Model& model, Sizes& sizes) {
  if (text.empty()) return;
  if (text.front() != '(' || text.back() != ')') {
    fail_usage("[model] cannot read '{}'\nHINT: write {}(name=value,...)", text,
               model.name);
  }
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    size_t equals = item.find('=');
    if (equals == item.npos) fail_usage("[model] cannot read size '{}'", item);
    double value = 0;
    const char* end = item.data() + item.size();
    auto read = std::from_chars(item.data() + equals + 1, end, value);
    if (read.ptr != end || read.ec != std::errc()) {
      fail_usage("[model] cannot read size '{}'", item);
    }
    set_size(model, sizes, std::string(item.substr(0, equals)), value);
  }
}

}  // namespace

const std::vector<Model>& all_models() {
  static const std::vector<Model> models = {
      {"mlp",
       "fully connected layers with ReLU",
       {{"batch", 16},
        {"features", 16},
        {"hidden", 32},
        {"layers", 2},
        {"classes", 4},
        {"dropout", 0}},
       "x[batch, features] float, y[batch] i64",
       build_mlp},
      {"lenet",
       "LeNet-5 with max pooling",
       {{"batch", 64},
        {"channels", 1},
        {"side", 28},
        {"classes", 10},
        {"dropout", 0}},
       "x[batch, channels, side, side] float, y[batch] i64",
       build_lenet},
      {"resblock",
       "residual blocks with BatchNorm",
       {{"batch", 16},
        {"channels", 16},
        {"side", 16},
        {"blocks", 2},
        {"classes", 10},
        {"dropout", 0}},
       "x[batch, 3, side, side] float, y[batch] i64",
       build_resblock},
      {"transformer",
       "causal Transformer language model",
       {{"batch", 8},
        {"length", 32},
        {"vocab", 64},
        {"width", 64},
        {"heads", 4},
        {"layers", 2},
        {"dropout", 0}},
       "tokens[batch, length] i64, targets[batch, length] i64",
       build_transformer},
  };
  return models;
}

bool is_model(std::string_view text) { return find_model(name_part(text)); }

Graph build_model(const OpTable& ops, std::string_view text, DType dtype,
                  const Sizes& sizes) {
  const Model* model = find_model(name_part(text));
  if (!model) {
    std::vector<std::string> known;
    for (const Model& m : all_models()) known.push_back(m.name);
    fail_usage("[model] unknown model '{}'\nHINT: did you mean '{}'?",
               name_part(text), nearest_name(name_part(text), known));
  }
  Sizes all = model->defaults;
  read_sizes(text.substr(name_part(text).size()), *model, all);
  for (const auto& [key, value] : sizes) set_size(*model, all, key, value);
  return model->build(ops, dtype, all);
}

}  // namespace braid::models
