// Values looked up by places. I the shape of broadcast indices, D sizes that
// are indexed, R the rest, B members.
#include <algorithm>

#include "braid/ops/build/functions.h"
#include "braid/ops/core/dim_rules.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

std::vector<ValueType> gather_shape(const NodeView& v) {
  expect_index_fits(v);
  return {{v.dtype(0), v.shape(1)}};
}

void gather_vjp(VjpContext& c) {
  if (!c.needs(0)) return;
  c.give(0,
         apply("gather_backward", {c.grad(0), c.in(1)}, with_input_shape(c)));
}

std::vector<ValueType> index_select_shape(const NodeView& v) {
  expect_indices(v, 1);
  if (v.rank(1) != 1) v.fail("the index has rank {}", v.rank(1));
  Shape shape = v.shape(0);
  shape[static_cast<size_t>(checked_dim(v))] = v.dim(1, 0);
  return {{v.dtype(0), shape}};
}

void index_select_vjp(VjpContext& c) {
  if (!c.needs(0)) return;
  c.give(0, apply("index_select_backward", {c.grad(0), c.in(1)},
                  with_input_shape(c)));
}

// Members that choose their own entries gather them.
void index_select_array(ArrayContext& c) {
  Var x = c.leading(0);
  Attrs attrs = shift_dim(c.attrs());
  if (c.shared(1)) {
    return c.emit(0, apply("index_select", {x, c.in(1)}, attrs),
                  MemberAxis::kLeading);
  }
  auto dim = static_cast<size_t>(attrs.integer("dim"));
  Shape ones(x.shape().size(), 1), shape = x.shape();
  ones[0] = c.members();
  ones[dim] = shape[dim] = c.one().dim(1, 0);
  Var index = expand(reshape(c.leading(1), ones), shape);
  c.emit(0, apply("gather", {x, index}, attrs), MemberAxis::kLeading);
}

// I of the indices from input `first` on, with B in front in an array.
Shape index_shape(const NodeView& v, size_t first) {
  Shape shape;
  if (v.count() <= first) v.fail("needs an index");
  for (size_t i = first; i < v.count(); ++i) {
    expect_indices(v, i);
    v.expect_members(i);
    shape = broadcast_shapes(shape, v.shape(i), v.node().op->name.c_str());
  }
  return shape;
}

// The shape of x[I]: [I, R], with B in front in an array.
Shape indexed_shape(const NodeView& v, size_t first) {
  v.expect_members(0);
  Shape shape = index_shape(v, first);
  size_t taken = v.count() - first + (v.members() > 0 ? 1 : 0);
  if (taken > v.shape(0).size()) v.fail("too many indices");
  shape.insert(shape.end(), v.shape(0).begin() + static_cast<int64_t>(taken),
               v.shape(0).end());
  return shape;
}

// [B, ...] with ones after B up to `rank` dims of a member.
Var aligned(ArrayContext& c, size_t i, int64_t rank) {
  Var x = c.leading(i);
  Shape shape = x.shape();
  shape.insert(shape.begin() + 1, static_cast<size_t>(rank + 1 - x.rank()), 1);
  return reshape(x, shape);
}

// Indices from input `first` on are brought to one rank.
std::vector<Var> aligned_indices(ArrayContext& c, size_t first) {
  int64_t rank = 0;
  for (size_t i = first; i < c.one().count(); ++i) {
    rank = std::max(rank, c.one().rank(i));
  }
  std::vector<Var> indices;
  for (size_t i = first; i < c.one().count(); ++i) {
    indices.push_back(aligned(c, i, rank));
  }
  return indices;
}

std::vector<Var> joined(std::vector<Var> first, const std::vector<Var>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

void index_array(ArrayContext& c) {
  Attrs attrs = c.attrs();
  attrs.set("members", c.members());
  c.emit(0,
         apply("index", joined({c.leading(0)}, aligned_indices(c, 1)), attrs),
         MemberAxis::kLeading);
}

void index_put_array(ArrayContext& c) {
  Attrs attrs = c.attrs();
  attrs.set("members", c.members());
  std::vector<Var> indices = aligned_indices(c, 2);
  auto taken = static_cast<int64_t>(indices.size());
  int64_t rank = indices[0].rank() - 1 + c.one().rank(0) - taken;
  c.emit(0,
         apply("index_put",
               joined({c.leading(0), aligned(c, 1, rank)}, indices), attrs),
         MemberAxis::kLeading);
}

std::vector<Var> inputs_from(VjpContext& c, size_t first) {
  std::vector<Var> inputs;
  for (size_t i = first; i < c.node().inputs.size(); ++i) {
    inputs.push_back(c.in(i));
  }
  return inputs;
}

void index_vjp(VjpContext& c) {
  if (!c.needs(0)) return;
  c.give(0, apply("index_backward", joined({c.grad(0)}, inputs_from(c, 1)),
                  with_input_shape(c)));
}

std::vector<ValueType> index_put_shape(const NodeView& v) {
  Shape target = indexed_shape(v, 2);
  if (v.dtype(1) != v.dtype(0) ||
      broadcast_shapes(v.shape(1), target, "index_put") != target) {
    v.fail("values {} {} do not fit {} {}", dtype_name(v.dtype(1)),
           shape_text(v.shape(1)), dtype_name(v.dtype(0)), shape_text(target));
  }
  return {v.type(0)};
}

// Values that were overwritten get no gradient; those put there do.
void index_put_vjp(VjpContext& c) {
  std::vector<Var> indices = inputs_from(c, 2);
  bool adds = c.attrs().flag("accumulate");
  if (c.needs(0) && adds) c.give(0, c.grad(0));
  if (c.needs(0) && !adds) {
    Var zero = full_like(c.grad(0), {}, 0);
    c.give(0,
           apply("index_put", joined({c.grad(0), zero}, indices), c.attrs()));
  }
  if (!c.needs(1)) return;
  Attrs attrs = c.attrs();
  attrs.erase("accumulate");
  Var taken = apply("index", joined({c.grad(0)}, indices), attrs);
  c.give(1, sum_to(taken, c.in(1).shape()));
}

// Where the indexed dimensions of x go: to the front, and I back from there.
struct Places {
  Ints front;  // order of x with indexed dimensions first
  std::vector<Var> indices;
  int64_t where = 0;  // at which dimension of the result I stands
};

// Indexed dimensions side by side keep their place, others move to the front.
Places find_places(Var x, const std::vector<Var>& given) {
  if (static_cast<int64_t>(given.size()) > x.rank()) {
    fail_usage("[index] {} indices for rank {}", given.size(), x.rank());
  }
  Places p;
  Ints rest;
  for (int64_t d = 0; d < x.rank(); ++d) {
    auto at = static_cast<size_t>(d);
    bool indexed = at < given.size() && given[at];
    (indexed ? p.front : rest).push_back(d);
    if (indexed) p.indices.push_back(cast(given[at], DType::kInt64));
  }
  if (p.front.empty()) fail_usage("[index] needs an index");
  bool adjacent = p.front.back() - p.front.front() + 1 ==
                  static_cast<int64_t>(p.front.size());
  p.where = adjacent ? p.front.front() : 0;
  p.front.insert(p.front.end(), rest.begin(), rest.end());
  return p;
}

int64_t index_rank(const Places& p) {
  int64_t rank = 0;
  for (const Var& index : p.indices) rank = std::max(rank, index.rank());
  return rank;
}

// `count` leading dimensions moved so that they begin at `to`, or back.
Var move_block(Var x, int64_t count, int64_t from, int64_t to) {
  Ints source, target;
  for (int64_t i = 0; i < count; ++i) {
    source.push_back(from + i);
    target.push_back(to + i);
  }
  return from == to ? x : movedim(x, source, target);
}

Ints inverse(const Ints& order) {
  Ints back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return back;
}

}  // namespace

void add_index_ops(OpTable& table) {
  table.add({.name = "gather",
             .summary = "y[I] = x at index[I] along a dim",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = gather_shape,
             .vjp = gather_vjp,
             .array = array_dim,
             .array_rule = ArrayRule::kShiftDims});
  table.add({.name = "gather_backward",
             .summary = "dy added up at the places it came from",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = given_shape});
  table.add({.name = "index_select",
             .summary = "entries of a dim, in the order of index[N]",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = index_select_shape,
             .vjp = index_select_vjp,
             .array = index_select_array,
             .array_rule = ArrayRule::kOwn});
  table.add({.name = "index_select_backward",
             .summary = "dy added up at the entries it came from",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = given_shape});
  table.add({.name = "index",
             .summary = "y[I, R] = x[D..., R] at one index[I] per D",
             .min_inputs = 2,
             .max_inputs = 64,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               return {{v.dtype(0), indexed_shape(v, 1)}};
             },
             .vjp = index_vjp,
             .array = index_array,
             .array_rule = ArrayRule::kMembers});
  table.add({.name = "index_backward",
             .summary = "dy added up at the places it came from",
             .min_inputs = 2,
             .max_inputs = 64,
             .shape = given_shape});
  table.add({.name = "index_put",
             .summary = "x[D..., R] with values[I, R] put or added at one "
                        "index[I] per D; the last of equal places stays",
             .min_inputs = 3,
             .max_inputs = 64,
             .shape = index_put_shape,
             .vjp = index_put_vjp,
             .array = index_put_array,
             .array_rule = ArrayRule::kMembers,
             .in_place = {{0, 0}}});
}

Var gather(Var x, int64_t dim, Var index) {
  return apply_along("gather", {x, cast(index, DType::kInt64)}, dim)[0];
}

Var take_along_dim(Var x, Var index, int64_t dim) {
  dim = normalize_dim(dim, x.rank(), "take_along_dim");
  Shape a = x.shape(), b = index.shape();
  auto at = static_cast<size_t>(dim);
  int64_t size = a.at(at), count = b.at(at);
  a[at] = b[at] = 1;
  Shape shape = broadcast_shapes(a, b, "take_along_dim");
  a = b = shape;
  a[at] = size;
  b[at] = count;
  return gather(expand(x, a), dim, expand(index, b));
}

Var index_select(Var x, int64_t dim, Var index) {
  index = reshape(cast(index, DType::kInt64), {-1});
  Var y = apply_along("index_select", {x, index}, dim)[0];
  return x.rank() == 0 ? reshape(y, {}) : y;  // one entry of a scalar
}

Var index(Var x, const std::vector<Var>& indices) {
  Places p = find_places(x, indices);
  Var y = apply("index", joined({permute(x, p.front)}, p.indices), {});
  return move_block(y, index_rank(p), 0, p.where);
}

Var index_put(Var x, const std::vector<Var>& indices, Var values,
              bool accumulate) {
  Places p = find_places(x, indices);
  int64_t count = index_rank(p);
  // Values broadcast against the result of index; I goes to the front.
  auto rank = x.rank() - static_cast<int64_t>(p.indices.size()) + count;
  Shape shape = values.shape();
  if (values.rank() > rank) {
    fail_usage("[index_put] values {} have too many dimensions",
               shape_text(shape));
  }
  shape.insert(shape.begin(), static_cast<size_t>(rank - values.rank()), 1);
  values = move_block(reshape(values, shape), count, p.where, 0);
  Var y = apply("index_put", joined({permute(x, p.front), values}, p.indices),
                {{"accumulate", accumulate}});
  return permute(y, inverse(p.front));
}

}  // namespace braid
