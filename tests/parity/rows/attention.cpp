#include "../row.h"

namespace braid::parity {
namespace {

Row attention(Shape q, Shape k, bool causal, std::string note) {
  return {.op = "scaled_dot_product_attention",
          .args = {{q}, {k}, {k}},
          .attrs = {{"is_causal", causal}},
          .reference =
              [causal](const Tensors& t) {
                return std::get<0>(at::_scaled_dot_product_attention_math(
                    t[0], t[1], t[2], std::nullopt, 0.0, causal));
              },
          .note = std::move(note)};
}

}  // namespace

std::vector<Row> attention_rows() {
  return {attention({2, 3, 5, 8}, {2, 3, 5, 8}, false, "plain"),
          attention({2, 3, 5, 8}, {2, 3, 5, 8}, true, "causal"),
          attention({2, 2, 4, 8}, {2, 2, 7, 8}, false, "cross"),
          attention({1, 1, 1, 4}, {1, 1, 1, 4}, true, "one"),
          attention({2, 4, 64, 16}, {2, 4, 64, 16}, true, "longer"),
          attention({1, 2, 6, 5}, {1, 2, 6, 5}, true, "odd size")};
}

}  // namespace braid::parity
