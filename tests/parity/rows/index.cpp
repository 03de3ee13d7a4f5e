#include "built.h"

namespace braid::parity {
namespace {

using Rows = std::vector<Row>;
using at::Tensor;
using Lists = c10::List<std::optional<Tensor>>;

// x, index and, for scatters, src; x also with other strides.
void add_pair(Rows& rows, const std::string& op, std::vector<Arg> args, Build f,
              Reference g, const std::string& note) {
  rows.push_back(built(op, args, f, g, note));
  Shape& shape = args[0].shape;
  if (shape.size() < 2) return;
  std::swap(shape[0], shape[1]);
  rows.push_back(built(
      op, args,
      [f](Vars v) {
        v[0] = transpose(v[0], 0, 1);
        return f(v);
      },
      [g](Tensors t) {
        t[0] = t[0].transpose(0, 1);
        return g(t);
      },
      note + " strided"));
}

void add_gathers(Rows& rows) {
  struct Case {
    Shape x, index;
    int64_t dim;
  };
  const Case cases[] = {{{4, 5}, {4, 5}, 0},
                        {{4, 5}, {3, 7}, 1},
                        {{4, 5}, {9, 2}, 0},
                        {{6}, {10}, 0},
                        {{2, 3, 4}, {2, 5, 4}, -2},
                        {{2, 3, 4}, {1, 3, 8}, -1},
                        {{1, 3}, {1, 4}, 1},
                        {{4, 5}, {0, 5}, 0},
                        {{}, {}, 0},
                        {{2, 2, 3, 2, 2}, {2, 2, 6, 1, 2}, 2}};
  for (const Case& c : cases) {
    int64_t dim = c.dim;
    int64_t limit = c.x.empty() ? 1 : Tensor(at::empty(c.x)).size(dim);
    std::string note =
        shape_text(c.x) + shape_text(c.index) + std::to_string(dim);
    add_pair(
        rows, "gather", {{c.x}, index(c.index, limit)},
        [=](const Vars& v) { return gather(v[0], dim, v[1]); },
        [=](const Tensors& t) { return t[0].gather(dim, t[1]); }, note);
  }
  add_pair(
      rows, "gather", {{{4, 5}}, index({4, 1}, 5)},
      [](const Vars& v) { return take_along_dim(v[0], v[1], 1); },
      [](const Tensors& t) { return t[0].take_along_dim(t[1], 1); }, "take");
  add_pair(
      rows, "gather", {{{4, 5}}, index({1, 3}, 5)},
      [](const Vars& v) { return take_along_dim(v[0], v[1], -1); },
      [](const Tensors& t) { return t[0].take_along_dim(t[1], -1); },
      "take broadcast");
  add_pair(
      rows, "gather", {index({4, 5}, 100), index({4, 5}, 4)},
      [](const Vars& v) { return gather(v[0], 0, v[1]); },
      [](const Tensors& t) { return t[0].gather(0, t[1]); }, "whole");
}

void add_selects(Rows& rows) {
  const std::pair<Shape, int64_t> cases[] = {
      {{4, 5}, 0}, {{4, 5}, -1},         {{2, 3, 4}, 1}, {{6}, 0},
      {{}, 0},     {{2, 2, 3, 2, 2}, 2}, {{0, 3}, 1}};
  for (const auto& [shape, d] : cases) {
    int64_t dim = d;
    int64_t limit = shape.empty() ? 1 : Tensor(at::empty(shape)).size(dim);
    for (const Shape& picked : {Shape{7}, Shape{0}, Shape{1}}) {
      if (shape.empty() && picked != Shape{1}) continue;
      add_pair(
          rows, "index_select", {{shape}, index(picked, limit)},
          [=](const Vars& v) { return index_select(v[0], dim, v[1]); },
          [=](const Tensors& t) { return t[0].index_select(dim, t[1]); },
          shape_text(shape) + shape_text(picked) + std::to_string(dim));
    }
  }
}

// Shapes of indices by dimension; a -1 stands for a missing one.
struct Lookup {
  Shape x;
  std::vector<Shape> indices;
  Shape values;  // of a put
};

const Shape kSkip{-1};

const std::vector<Lookup>& lookups() {
  static const std::vector<Lookup> list{
      {{5, 4}, {{3}}, {3, 4}},
      {{5, 4}, {{2, 3}}, {4}},
      {{5, 4}, {{3}, {3}}, {3}},
      {{5, 4}, {{3, 1}, {2}}, {}},
      {{5, 4}, {kSkip, {3}}, {5, 1}},
      {{5, 4}, {{}}, {4}},
      {{5, 4}, {{}, {}}, {}},
      {{6}, {{8}}, {8}},
      {{6}, {{0}}, {0}},
      {{3, 4, 5}, {kSkip, kSkip, {2, 2}}, {3, 4, 2, 2}},
      {{3, 4, 5}, {kSkip, {2}, {2}}, {3, 2}},
      {{3, 4, 5}, {{2}, kSkip, {2}}, {2, 4}},
      {{3, 4, 5}, {{2, 1}, kSkip, {3}}, {2, 3, 1}},
      {{3, 4, 5}, {{2}, {2}, {2}}, {1}},
      {{2, 3, 2, 4}, {kSkip, {3}, kSkip, {3}}, {3, 2, 2}},
      {{2, 3, 2, 4}, {kSkip, {2, 2}, {2}}, {2, 2, 1, 4}},
      {{1, 3}, {{4}}, {4, 3}},
      {{2, 3, 2, 3, 2}, {kSkip, {4}, kSkip, {4}}, {4, 2, 2, 2}},
  };
  return list;
}

// Inputs after `first` are the indices that are there, in order.
Vars given(const Lookup& l, const Vars& v, size_t first) {
  Vars list;
  for (const Shape& shape : l.indices) {
    list.push_back(shape == kSkip ? Var{} : v[first++]);
  }
  return list;
}

Lists given(const Lookup& l, const Tensors& t, size_t first) {
  Lists list;
  for (const Shape& shape : l.indices) {
    list.push_back(shape == kSkip ? std::nullopt : std::optional(t[first++]));
  }
  return list;
}

void add_indices(std::vector<Arg>& args, const Lookup& l) {
  for (size_t d = 0; d < l.indices.size(); ++d) {
    if (l.indices[d] != kSkip) args.push_back(index(l.indices[d], l.x[d]));
  }
}

std::string text(const Lookup& l) {
  std::string result = shape_text(l.x);
  for (const Shape& shape : l.indices) result += shape_text(shape);
  return result;
}

void add_lookups(Rows& rows) {
  for (const Lookup& l : lookups()) {
    std::vector<Arg> args{{l.x}};
    add_indices(args, l);
    add_pair(
        rows, "index", args,
        [=](const Vars& v) { return braid::index(v[0], given(l, v, 1)); },
        [=](const Tensors& t) { return at::index(t[0], given(l, t, 1)); },
        text(l));
    args.insert(args.begin() + 1, Arg{l.values});
    add_pair(
        rows, "index_put", args,
        [=](const Vars& v) {
          return index_put(v[0], given(l, v, 2), v[1], true);
        },
        [=](const Tensors& t) {
          return at::index_put(t[0], given(l, t, 2), t[1], true);
        },
        text(l) + " add");
  }
  add_pair(
      rows, "index", {{{5, 4}}, index({3}, 5)},
      [](const Vars& v) { return braid::index(v[0], {add_scalar(v[1], -5)}); },
      [](const Tensors& t) {
        Lists list;
        list.push_back(t[1] - 5);
        return at::index(t[0], list);
      },
      "negative");
  add_pair(
      rows, "index", {mask({5, 4}), index({3}, 5)},
      [](const Vars& v) { return braid::index(v[0], {v[1]}); },
      [](const Tensors& t) {
        Lists list;
        list.push_back(t[1]);
        return at::index(t[0], list);
      },
      "of truth values");
}

// Places that differ from each other: what a put without adding needs.
void add_puts(Rows& rows) {
  auto spread_out = [](Var x) {  // 0, 2, 4 moved by a common amount below 2
    return add(mul_scalar(arange(x, 0, 3, 1, DType::kInt64), 2), x);
  };
  auto spread_like = [](const Tensor& x) {
    return at::arange(3, at::kLong) * 2 + x;
  };
  for (const Shape& values : {Shape{3, 4}, Shape{4}, Shape{}, Shape{3, 1}}) {
    add_pair(
        rows, "index_put", {{{6, 4}}, {values}, index({1}, 2)},
        [=](const Vars& v) {
          return index_put(v[0], {spread_out(v[2])}, v[1]);
        },
        [=](const Tensors& t) {
          Lists list;
          list.push_back(spread_like(t[2]));
          return at::index_put(t[0], list, t[1]);
        },
        shape_text(values));
    add_pair(
        rows, "index_put", {{{4, 6}}, {values}, index({1}, 2)},
        [=](const Vars& v) {
          Var rows_first = values.size() == 2 ? transpose(v[1], 0, 1) : v[1];
          if (values.size() == 1) rows_first = unsqueeze(v[1], 1);
          return index_put(v[0], {Var{}, spread_out(v[2])}, rows_first);
        },
        [=](const Tensors& t) {
          Lists list;
          list.push_back(std::optional<Tensor>());
          list.push_back(spread_like(t[2]));
          Tensor rows_first = values.size() == 2 ? t[1].t() : t[1];
          if (values.size() == 1) rows_first = t[1].unsqueeze(1);
          return at::index_put(t[0], list, rows_first);
        },
        shape_text(values) + " second");
  }
  for (int64_t dim : {0, 1, -1}) {
    Shape shape = dim == 0 ? Shape{6, 2, 3} : Shape{2, 6, 3};
    if (dim == -1) shape = {2, 3, 6};
    Shape src = shape;
    src[dim == -1 ? 2 : static_cast<size_t>(dim)] = 3;
    Shape ones(3, 1);
    ones[dim == -1 ? 2 : static_cast<size_t>(dim)] = 3;
    auto var_index = [=](Var x) {
      return expand(reshape(spread_out(x), ones), src);
    };
    auto tensor_index = [=](const Tensor& x) {
      return spread_like(x).view(ones).expand(src).contiguous();
    };
    add_pair(
        rows, "scatter", {{shape}, {src}, index({1}, 2)},
        [=](const Vars& v) {
          return scatter(v[0], dim, var_index(v[2]), v[1]);
        },
        [=](const Tensors& t) {
          return t[0].scatter(dim, tensor_index(t[2]), t[1]);
        },
        std::to_string(dim));
  }
}

void add_scatters(Rows& rows) {
  struct Case {
    Shape x, index, src;
    int64_t dim;
  };
  const Case cases[] = {{{4, 5}, {4, 5}, {4, 5}, 0},
                        {{4, 5}, {3, 8}, {3, 8}, 1},
                        {{6}, {12}, {12}, 0},
                        {{6}, {0}, {0}, 0},
                        {{2, 3, 4}, {2, 6, 3}, {2, 6, 3}, -2},
                        {{1, 3}, {1, 5}, {1, 5}, -1},
                        {{}, {}, {}, 0},
                        {{2, 2, 3, 2, 2}, {2, 1, 5, 2, 2}, {2, 1, 5, 2, 2}, 2}};
  for (const Case& c : cases) {
    int64_t dim = c.dim;
    int64_t limit = c.x.empty() ? 1 : Tensor(at::empty(c.x)).size(dim);
    std::string note =
        shape_text(c.x) + shape_text(c.index) + std::to_string(dim);
    std::vector<Arg> args{{c.x}, index(c.index, limit), {c.src}};
    add_pair(
        rows, "scatter_add", args,
        [=](const Vars& v) { return scatter_add(v[0], dim, v[1], v[2]); },
        [=](const Tensors& t) { return t[0].scatter_add(dim, t[1], t[2]); },
        note);
    add_pair(
        rows, "scatter_value", {args[0], args[1]},
        [=](const Vars& v) { return scatter_value(v[0], dim, v[1], 1.5); },
        [=](const Tensors& t) { return t[0].scatter(dim, t[1], 1.5); }, note);
    for (const char* reduce : {"sum", "mean", "amax", "amin"}) {
      for (bool self : {true, false}) {
        for (bool ties : {false, true}) {
          if (ties && reduce[0] != 'a') continue;
          std::vector<Arg> filled = args;
          if (ties) filled = {steps(c.x), args[1], steps(c.src)};
          add_pair(
              rows, "scatter_reduce", filled,
              [=](const Vars& v) {
                return scatter_reduce(v[0], dim, v[1], v[2], reduce, self);
              },
              [=](const Tensors& t) {
                return t[0].scatter_reduce(dim, t[1], t[2], reduce, self);
              },
              note + reduce + (self ? " self" : "") + (ties ? " ties" : ""));
        }
      }
    }
  }
  add_pair(
      rows, "scatter_add", {{{4, 5}}, index({2, 3}, 4), {{3, 5}}},
      [](const Vars& v) { return scatter_add(v[0], 0, v[1], v[2]); },
      [](const Tensors& t) {
        return t[0].scatter_add(0, t[1], t[2].slice(0, 0, 2).slice(1, 0, 3));
      },
      "larger src");
}

void add_written_views(Rows& rows) {
  struct Case {
    Shape x, src;
    int64_t dim, start, end, step;
  };
  const Case cases[] = {
      {{5, 4}, {2, 4}, 0, 1, 3, 1},     {{5, 4}, {5, 2}, 1, 0, 4, 2},
      {{5, 4}, {3, 4}, -2, -3, 100, 1}, {{5, 4}, {0, 4}, 0, 4, 2, 1},
      {{7}, {3}, 0, 1, 7, 2},           {{2, 3, 4}, {2, 3, 4}, 2, 0, 4, 1}};
  for (const Case& c : cases) {
    add_pair(
        rows, "slice_scatter", {{c.x}, {c.src}},
        [=](const Vars& v) {
          return slice_scatter(v[0], v[1], c.dim, c.start, c.end, c.step);
        },
        [=](const Tensors& t) {
          return t[0].slice_scatter(t[1], c.dim, c.start, c.end, c.step);
        },
        shape_text(c.x) + shape_text(c.src));
  }
  for (int64_t dim : {0, 1, -1}) {
    for (int64_t at : {0, 2, -1}) {
      Shape src{3, 3};
      add_pair(
          rows, "slice_scatter", {{{3, 3, 3}}, {src}},
          [=](const Vars& v) { return select_scatter(v[0], v[1], dim, at); },
          [=](const Tensors& t) { return t[0].select_scatter(t[1], dim, at); },
          fmt::format("select {} {}", dim, at));
    }
  }
}

}  // namespace

std::vector<Row> index_rows() {
  Rows rows;
  add_gathers(rows);
  add_selects(rows);
  add_lookups(rows);
  add_puts(rows);
  add_scatters(rows);
  add_written_views(rows);
  return rows;
}

}  // namespace braid::parity
