#include "../row.h"
#include "braid/ops/functions.h"

namespace braid::parity {
namespace {

// Any composition of functions, against the same one in libtorch.
Row built(const char* op, std::vector<Arg> args, Build build,
          Reference reference, std::string note) {
  return {.op = op,
          .args = std::move(args),
          .attrs = {},
          .reference = std::move(reference),
          .build = std::move(build),
          .note = std::move(note)};
}

using Vars = std::vector<Var>;

}  // namespace

std::vector<Row> shape_rows() {
  return {
      built(
          "reshape", {{{4, 6}}},
          [](const Vars& v) {
            return reshape(v[0], {3, 8});
          },
          [](const Tensors& t) {
            return t[0].reshape({3, 8});
          },
          "plain"),
      built(
          "reshape", {{{4, 6}}},
          [](const Vars& v) {
            return reshape(transpose(v[0], 0, 1), {2, 12});
          },
          [](const Tensors& t) {
            return t[0].t().reshape({2, 12});
          },
          "of a transpose"),
      built(
          "reshape", {{{2, 3, 4}}},
          [](const Vars& v) {
            return reshape(permute(v[0], {1, 0, 2}), {3, 8});
          },
          [](const Tensors& t) {
            return t[0].permute({1, 0, 2}).reshape({3, 8});
          },
          "of a permute"),
      built(
          "reshape", {{{0, 4}}},
          [](const Vars& v) {
            return reshape(v[0], {2, 0});
          },
          [](const Tensors& t) {
            return t[0].reshape({2, 0});
          },
          "empty"),
      built(
          "reshape", {{{}}},
          [](const Vars& v) {
            return reshape(v[0], {1, 1});
          },
          [](const Tensors& t) {
            return t[0].reshape({1, 1});
          },
          "scalar"),
      built(
          "permute", {{{2, 3, 4}}},
          [](const Vars& v) {
            return permute(v[0], {2, 0, 1});
          },
          [](const Tensors& t) {
            return t[0].permute({2, 0, 1});
          },
          "3d"),
      built(
          "permute", {{{2, 3}}},
          [](const Vars& v) {
            return exp(permute(v[0], {-1, 0}));
          },
          [](const Tensors& t) { return t[0].t().exp(); }, "then exp"),
      built(
          "expand", {{{3, 1}}},
          [](const Vars& v) {
            return expand(v[0], {2, 3, 4});
          },
          [](const Tensors& t) {
            return t[0].expand({2, 3, 4});
          },
          "3d"),
      built(
          "expand", {{{}}},
          [](const Vars& v) {
            return expand(v[0], {2, 2});
          },
          [](const Tensors& t) {
            return t[0].expand({2, 2});
          },
          "scalar"),
      built(
          "slice", {{{5, 7}}},
          [](const Vars& v) { return slice(v[0], 1, 1, 6, 2); },
          [](const Tensors& t) { return t[0].slice(1, 1, 6, 2); }, "step"),
      built(
          "slice", {{{5, 7}}},
          [](const Vars& v) { return slice(v[0], -2, -3, 100); },
          [](const Tensors& t) { return t[0].slice(0, -3, 100); },
          "negative start"),
      built(
          "slice", {{{5, 7}}},
          [](const Vars& v) { return slice(v[0], 0, 4, 2); },
          [](const Tensors& t) { return t[0].slice(0, 4, 2); }, "empty"),
      built(
          "cat", {{{2, 3}}, {{2, 1}}, {{2, 4}}},
          [](const Vars& v) {
            return cat({v[0], v[1], v[2]}, -1);
          },
          [](const Tensors& t) {
            return at::cat({t[0], t[1], t[2]}, 1);
          },
          "three"),
      built(
          "cat", {{{2, 3}}},
          [](const Vars& v) {
            return cat({v[0], exp(v[0])}, 0);
          },
          [](const Tensors& t) {
            return at::cat({t[0], t[0].exp()}, 0);
          },
          "twice the same"),
      built(
          "to", {{{3, 4}}},
          [](const Vars& v) {
            Var wide = cast(v[0], DType::kFloat64);
            return mul(wide, wide);
          },
          [](const Tensors& t) {
            return t[0].to(at::kDouble) * t[0].to(at::kDouble);
          },
          "wider"),
      built(
          "mul", {index({3, 4}, 5), {{3, 4}}},
          [](const Vars& v) { return mul(v[0], v[1]); },
          [](const Tensors& t) { return t[0] * t[1]; }, "integer"),
      built(
          "full", {{{2, 3}}},
          [](const Vars& v) { return add(v[0], full_like(v[0], {3}, 1.5)); },
          [](const Tensors& t) { return t[0] + 1.5; }, "added"),
  };
}

}  // namespace braid::parity
