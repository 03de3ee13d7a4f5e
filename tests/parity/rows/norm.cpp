#include "../row.h"

namespace braid::parity {
namespace {

std::optional<at::Tensor> optional(const at::Tensor& t) {
  return t.defined() ? std::optional(t) : std::nullopt;
}

Row layer_norm(Shape x, bool weight, bool bias, std::string note) {
  int64_t columns = x.back();
  Row row{.op = "layer_norm",
          .args = {{x}, {{columns}}, {{columns}}},
          .attrs = {{"eps", 1e-5}},
          .reference =
              [columns](const Tensors& t) {
                return at::layer_norm(t[0], {columns}, optional(t[1]),
                                      optional(t[2]), 1e-5);
              },
          .note = std::move(note)};
  if (!weight) row.args[1] = missing();
  if (!bias) row.args[2] = missing();
  return row;
}

// Running statistics are inputs without a gradient here.
Row batch_norm(Shape x, bool affine, bool training, std::string note) {
  int64_t channels = x[1];
  Row row{.op = "batch_norm",
          .args = {{x}, {{channels}}, {{channels}}, missing(), missing()},
          .attrs = {{"training", true}, {"momentum", 0.1}, {"eps", 1e-5}},
          .reference =
              [](const Tensors& t) {
                return at::batch_norm(t[0], optional(t[1]), optional(t[2]),
                                      std::nullopt, std::nullopt, true, 0.1,
                                      1e-5, false);
              },
          .note = std::move(note)};
  if (!affine) row.args[1] = row.args[2] = missing();
  if (!training) {
    row.attrs.set("training", false);
    row.args[3] = {{channels}};
    row.args[4] = positive({channels});
    row.reference = [](const Tensors& t) {
      return at::batch_norm(t[0], optional(t[1]), optional(t[2]), t[3].detach(),
                            t[4].detach(), false, 0.1, 1e-5, false);
    };
  }
  return row;
}

}  // namespace

std::vector<Row> norm_rows() {
  return {layer_norm({4, 8}, true, true, "2d"),
          layer_norm({2, 3, 5, 16}, true, true, "4d"),
          layer_norm({3, 7}, false, false, "plain"),
          layer_norm({3, 7}, true, false, "no bias"),
          layer_norm({1, 3}, true, true, "small"),
          layer_norm({64, 200}, true, true, "large"),
          batch_norm({6, 4}, true, true, "2d"),
          batch_norm({4, 3, 5, 5}, true, true, "4d"),
          batch_norm({4, 3, 5}, true, true, "3d"),
          batch_norm({4, 3, 5, 5}, false, true, "plain"),
          batch_norm({4, 3, 5, 5}, true, false, "eval")};
}

}  // namespace braid::parity
