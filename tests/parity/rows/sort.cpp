#include "built.h"

namespace braid::parity {
namespace {

using Rows = std::vector<Row>;
using at::Tensor;

struct Place {
  Shape shape;
  int64_t dim;
};

const std::vector<Place>& places() {
  static const std::vector<Place> list{
      {{3, 4, 5}, 0}, {{3, 4, 5}, 1}, {{3, 4, 5}, -1}, {{6}, 0},
      {{}, 0},        {{1}, -1},      {{2, 1, 3}, 1},  {{2, 3, 2, 3, 2}, 3},
      {{0, 3}, 1},    {{5, 120}, 1}};
  return list;
}

void add_extremes(Rows& rows, Arg x, int64_t dim, bool keep,
                  const std::string& note) {
  std::string text = fmt::format(" {}{}{}", dim, keep ? " kept" : "", note);
  add_built(
      rows, "max", x, [=](Var v) { return max(v, dim, keep).values; },
      [=](const Tensor& t) { return std::get<0>(t.max(dim, keep)); }, text);
  add_built(
      rows, "max", x, [=](Var v) { return max(v, dim, keep).indices; },
      [=](const Tensor& t) { return std::get<1>(t.max(dim, keep)); },
      text + " place");
  add_built(
      rows, "min", x, [=](Var v) { return min(v, dim, keep).values; },
      [=](const Tensor& t) { return std::get<0>(t.min(dim, keep)); }, text);
  add_built(
      rows, "min", x, [=](Var v) { return min(v, dim, keep).indices; },
      [=](const Tensor& t) { return std::get<1>(t.min(dim, keep)); },
      text + " place");
}

void add_sorts(Rows& rows, Arg x, int64_t dim, bool down,
               const std::string& note) {
  std::string text = fmt::format(" {}{}{}", dim, down ? " down" : "", note);
  add_built(
      rows, "sort", x, [=](Var v) { return sort(v, dim, down).values; },
      [=](const Tensor& t) {
        return std::get<0>(at::sort(t, true, dim, down));
      },
      text);
  add_built(
      rows, "sort", x, [=](Var v) { return argsort(v, dim, down); },
      [=](const Tensor& t) {
        return std::get<1>(at::sort(t, true, dim, down));
      },
      text + " place");
}

void add_topk(Rows& rows, Shape shape, int64_t k, int64_t dim, bool largest) {
  std::string text = fmt::format(" {} of {}{}", k, dim, largest ? " top" : "");
  add_built(
      rows, "topk", {shape},
      [=](Var v) { return topk(v, k, dim, largest).values; },
      [=](const Tensor& t) { return std::get<0>(t.topk(k, dim, largest)); },
      text);
  add_built(
      rows, "topk", {shape},
      [=](Var v) { return topk(v, k, dim, largest).indices; },
      [=](const Tensor& t) { return std::get<1>(t.topk(k, dim, largest)); },
      text + " place");
  // Any order; the sum of squares has none.
  add_built(
      rows, "topk", {shape},
      [=](Var v) {
        Var y = topk(v, k, dim, largest, false).values;
        return sum(mul(y, y), {dim});
      },
      [=](const Tensor& t) {
        return std::get<0>(t.topk(k, dim, largest, false)).square().sum(dim);
      },
      text + " unsorted");
}

}  // namespace

std::vector<Row> sort_rows() {
  Rows rows;
  for (const Place& p : places()) {
    for (bool flag : {false, true}) {
      add_extremes(rows, {p.shape}, p.dim, flag, "");
      add_sorts(rows, {p.shape}, p.dim, flag, "");
    }
    add_sorts(rows, steps(p.shape), p.dim, true, " ties");
    add_extremes(rows, steps(p.shape), p.dim, false, " ties");
    if (p.shape.empty() || p.shape[0] == 0) continue;
    Shape shape = p.shape;
    int64_t size = shape[static_cast<size_t>(
        p.dim < 0 ? p.dim + static_cast<int64_t>(shape.size()) : p.dim)];
    add_topk(rows, shape, size, p.dim, true);
    add_topk(rows, shape, (size + 1) / 2, p.dim, false);
    add_topk(rows, shape, 1, p.dim, true);
  }
  add_topk(rows, {3, 4}, 0, 1, true);
  add_extremes(rows, special({6, 5}), 1, false, " special");
  add_sorts(rows, special({6, 5}), 1, false, " special");
  add_extremes(rows, index({3, 4}, 9), 1, false, " whole");
  add_sorts(rows, index({3, 4}, 3), 0, true, " whole");
  return rows;
}

}  // namespace braid::parity
