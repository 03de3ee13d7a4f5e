#include "image.h"

#include "built.h"

namespace braid::parity {
namespace {

// y is a convolution [2, 4, 4, 3] of x[2, 3, 6, 5]; p one more parameter.
struct Tail {
  std::string note;
  Shape p;
  std::function<Var(Var y, Var p)> build;
  std::function<at::Tensor(const at::Tensor& y, const at::Tensor& p)> reference;
};

Row tail_row(const Tail& tail) {
  return built(
      "conv2d", {{{2, 3, 6, 5}}, {{4, 3, 3, 3}}, {{4}}, {tail.p}},
      [=](const Vars& v) { return tail.build(conv2d(v[0], v[1], v[2]), v[3]); },
      [=](const Tensors& t) {
        return tail.reference(at::conv2d(t[0], t[1], t[2]), t[3]);
      },
      "then " + tail.note);
}

std::vector<Tail> operands() {
  return {
      {"a value per channel",
       {4, 1, 1},
       [](Var y, Var p) { return relu(mul(y, p)); },
       [](auto& y, auto& p) { return at::relu(y * p); }},
      {"a value per channel and image",
       {2, 4, 1, 1},
       [](Var y, Var p) { return add(y, p); },
       [](auto& y, auto& p) { return y + p; }},
      {"a value per column",
       {3},
       [](Var y, Var p) { return sub(y, p); },
       [](auto& y, auto& p) { return y - p; }},
      {"a value per member",
       {},
       [](Var y, Var p) { return mul(y, p); },
       [](auto& y, auto& p) { return y * p; }},
      {"a value of its own size",
       {2, 4, 4, 3},
       [](Var y, Var p) { return mul(p, y); },
       [](auto& y, auto& p) { return p * y; }},
      {"its mean",
       {4},
       [](Var y, Var) {
         return mul(y, sigmoid(mean(y, {2, 3}, true)));
       },
       [](auto& y, auto&) {
         return y * at::sigmoid(y.mean({2, 3}, true));
       }},
      {"a gate of one by one",
       {4, 4, 1, 1},
       [](Var y, Var p) {
         return mul(y, sigmoid(conv2d(mean(y, {2, 3}, true), p, {})));
       },
       [](auto& y, auto& p) {
         return y * at::sigmoid(at::conv2d(y.mean({2, 3}, true), p));
       }},
  };
}

Tail reduction(std::string note, Ints dims, bool keep) {
  return {std::move(note),
          {1},
          [=](Var y, Var) { return sum(y, dims, keep); },
          [=](auto& y, auto&) { return y.sum(dims, keep); }};
}

std::vector<Tail> reductions() {
  return {reduction("a sum over the image", {2, 3}, false),
          reduction("a sum over rows", {2}, true),
          reduction("a sum over channels", {1}, false),
          reduction("a sum over channels, kept", {1}, true),
          reduction("a sum over the batch", {0}, false),
          reduction("a sum over the batch, kept", {0}, true),
          reduction("sums per channel", {0, 2, 3}, false),
          reduction("a sum of all", {0, 1, 2, 3}, false)};
}

// Along one dimension, in the place of the members and beside it.
std::vector<Tail> along(int64_t dim) {
  auto note = [&](const char* what) { return fmt::format("{} {}", what, dim); };
  return {
      {note("softmax along"),
       {1},
       [=](Var y, Var) { return softmax(mul(y, y), dim); },
       [=](auto& y, auto&) { return at::softmax(y * y, dim); }},
      {note("the largest along"),
       {1},
       [=](Var y, Var) { return max(y, dim).values; },
       [=](auto& y, auto&) { return std::get<0>(at::max(y, dim)); }},
      {note("itself along"),
       {1},
       [=](Var y, Var) {
         return cat({y, relu(y)}, dim);
       },
       [=](auto& y, auto&) {
         return at::cat({y, at::relu(y)}, dim);
       }},
      {note("a part along"),
       {1},
       [=](Var y, Var) { return sigmoid(slice(y, dim, 1, 2)); },
       [=](auto& y, auto&) { return at::sigmoid(y.slice(dim, 1, 2)); }},
  };
}

std::vector<Tail> layers() {
  return {
      {"batch norm",
       {4},
       [](Var y, Var p) { return batch_norm(mul(y, y), p, p, {}, {}).y; },
       [](auto& y, auto& p) {
         return at::batch_norm(y * y, p, p, {}, {}, true, 0.1, 1e-5, false);
       }},
      {"group norm",
       {4},
       [](Var y, Var p) { return group_norm(mul(y, y), 2, p, p); },
       [](auto& y, auto& p) { return at::group_norm(y * y, 2, p, p); }},
      {"a layer",
       {5, 48},
       [](Var y, Var p) { return linear(flatten(y), p, {}); },
       [](auto& y, auto& p) { return at::linear(y.flatten(1), p); }},
      {"one more",
       {2, 4, 2, 2},
       [](Var y, Var p) { return conv2d(relu(y), p, {}); },
       [](auto& y, auto& p) { return at::conv2d(at::relu(y), p); }},
      {"a pool",
       {1},
       [](Var y, Var) { return max_pool2d(y, {.kernel = {2}}); },
       [](auto& y, auto&) {
         return at::max_pool2d(y, {2, 2});
       }},
      {"an average",
       {1},
       [](Var y, Var) {
         return adaptive_avg_pool2d(y, {1, 1});
       },
       [](auto& y, auto&) {
         return at::adaptive_avg_pool2d(y, {1, 1});
       }},
  };
}

}  // namespace

std::vector<Row> image_rows() {
  std::vector<std::vector<Tail>> families{operands(), reductions(), layers()};
  for (int64_t dim : {0, 1, 2}) families.push_back(along(dim));
  std::vector<Row> rows;
  for (const auto& family : families) {
    for (const Tail& tail : family) rows.push_back(tail_row(tail));
  }
  return rows;
}

}  // namespace braid::parity
