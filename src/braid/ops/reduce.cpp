// Reductions over listed dimensions.
#include <algorithm>

#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {
namespace {

bool contains(const Ints& dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

std::vector<ValueType> reduced_shape(const NodeView& v) {
  const Ints& dims = v.attrs().ints("dims");
  bool keep = v.attrs().flag("keep_dims");
  for (int64_t d : dims) {
    if (d < 0 || d >= v.rank(0)) v.fail("dimension {} is outside", d);
    if (std::count(dims.begin(), dims.end(), d) > 1) {
      v.fail("dimension {} is listed twice", d);
    }
  }
  if (!is_floating(v.dtype(0)))
    v.fail("{} is no float", dtype_name(v.dtype(0)));
  Shape shape;
  for (int64_t d = 0; d < v.rank(0); ++d) {
    if (!contains(dims, d)) {
      shape.push_back(v.dim(0, d));
    } else if (keep) {
      shape.push_back(1);
    }
  }
  return {{v.dtype(0), shape}};
}

// The gradient spread over the reduced dimensions, times `factor`.
Var spread(VjpContext& c, double factor) {
  Shape kept = c.in(0).shape();
  for (int64_t d : c.attrs().ints("dims")) kept[static_cast<size_t>(d)] = 1;
  Var dy = factor == 1 ? c.grad(0) : mul_scalar(c.grad(0), factor);
  return expand(reshape(dy, kept), c.in(0).shape());
}

Op reduce_op(std::string name, std::string summary,
             std::function<void(VjpContext&)> vjp) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .shape = reduced_shape,
          .vjp = std::move(vjp),
          .array =
              [](ArrayContext& c) {
                Attrs attrs = c.attrs();
                attrs.set("dims", shift_dims(attrs.ints("dims")));
                array_shifted(c, attrs);
              },
          .trait = "shift_dims",
          .cost =
              [](const NodeView& v) {
                return Cost{static_cast<double>(num_elements(v.shape(0))), 0};
              }};
}

}  // namespace

void add_reduce_ops(OpTable& table) {
  table.add(reduce_op("sum", "sum over dims",
                      [](VjpContext& c) { c.give(0, spread(c, 1)); }));
  table.add(reduce_op("mean", "mean over dims", [](VjpContext& c) {
    double count = 1;
    for (int64_t d : c.attrs().ints("dims")) {
      count *= static_cast<double>(c.in(0).dim(d));
    }
    c.give(0, spread(c, 1 / count));
  }));
}

}  // namespace braid
