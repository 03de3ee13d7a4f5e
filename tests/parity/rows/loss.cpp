#include "../row.h"

namespace braid::parity {
namespace {

Row cross_entropy(Shape rows, int64_t classes, double smoothing,
                  std::string note) {
  Shape logits = rows;
  logits.push_back(classes);
  return {.op = "cross_entropy_loss",
          .args = {{logits}, index(rows, classes)},
          .attrs = {{"label_smoothing", smoothing}},
          .reference =
              [=](const Tensors& t) {
                return at::cross_entropy_loss(
                    t[0].reshape({-1, classes}), t[1].reshape({-1}),
                    std::nullopt, at::Reduction::Mean, -100, smoothing);
              },
          .note = std::move(note)};
}

Row mse(Shape shape) {
  return {
      .op = "mse_loss",
      .args = {{shape}, {shape}},
      .attrs = {},
      .reference = [](const Tensors& t) { return at::mse_loss(t[0], t[1]); },
      .note = shape_text(shape)};
}

}  // namespace

std::vector<Row> loss_rows() {
  return {cross_entropy({6}, 4, 0, "plain"),
          cross_entropy({6}, 4, 0.1, "smoothed"),
          cross_entropy({2, 5}, 7, 0, "3d"),
          cross_entropy({64}, 300, 0, "large"),
          cross_entropy({1}, 1, 0, "one"),
          mse({4, 3}),
          mse({5}),
          mse({1}),
          mse({2, 3, 4})};
}

}  // namespace braid::parity
