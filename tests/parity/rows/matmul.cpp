#include "../row.h"

namespace braid::parity {
namespace {

Row linear(Shape x, Shape w, bool bias, std::string note) {
  Row row{.op = "linear",
          .args = {{x}, {w}, {{w[0]}}},
          .attrs = {},
          .reference =
              [](const Tensors& t) {
                return at::linear(
                    t[0], t[1],
                    t[2].defined() ? std::optional(t[2]) : std::nullopt);
              },
          .note = std::move(note)};
  if (!bias) row.args[2] = missing();
  return row;
}

Row matmul(Shape a, Shape b) {
  return {.op = "matmul",
          .args = {{a}, {b}},
          .attrs = {},
          .reference = [](const Tensors& t) { return at::matmul(t[0], t[1]); },
          .note = shape_text(a) + shape_text(b)};
}

Row embedding(Shape indices, int64_t entries, int64_t columns,
              int64_t padding) {
  return {.op = "embedding",
          .args = {{{entries, columns}}, index(indices, entries)},
          .attrs = {{"padding_idx", padding}},
          .reference =
              [padding](const Tensors& t) {
                return at::embedding(t[0], t[1], padding);
              },
          .note = "pad" + std::to_string(padding)};
}

}  // namespace

std::vector<Row> matmul_rows() {
  return {linear({4, 16}, {8, 16}, true, "2d"),
          linear({4, 3, 16}, {8, 16}, true, "3d"),
          linear({4, 3, 2, 5}, {7, 5}, true, "4d"),
          linear({4, 16}, {8, 16}, false, "no bias"),
          linear({16}, {8, 16}, true, "1d"),
          linear({1, 1}, {1, 1}, true, "ones"),
          linear({0, 3}, {2, 3}, true, "empty batch"),
          linear({128, 200}, {150, 200}, true, "large"),
          matmul({4, 5}, {5, 3}),
          matmul({2, 4, 5}, {2, 5, 3}),
          matmul({2, 4, 5}, {5, 3}),
          matmul({4, 5}, {2, 5, 3}),
          matmul({2, 1, 4, 5}, {3, 5, 2}),
          matmul({1, 1}, {1, 1}),
          matmul({2, 64, 96}, {2, 96, 80}),
          embedding({4, 6}, 10, 5, -1),
          embedding({30}, 4, 3, 2),
          embedding({2, 3, 4}, 7, 8, 0),
          embedding({}, 5, 4, -1)};
}

}  // namespace braid::parity
