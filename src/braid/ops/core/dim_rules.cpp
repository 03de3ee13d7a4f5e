#include "braid/ops/core/dim_rules.h"

#include <numeric>

#include "braid/ops/build/functions.h"
#include "braid/ops/core/traits.h"

namespace braid {

int64_t checked_dim(const NodeView& v) {
  int64_t dim = v.attrs().integer("dim");
  if (dim < 0 || dim >= v.rank(0)) v.fail("dimension {} is outside", dim);
  return dim;
}

Shape dim_reduced(const NodeView& v) {
  int64_t dim = checked_dim(v);
  Shape shape = v.shape(0);
  if (v.attrs().flag("keep_dims")) {
    shape[static_cast<size_t>(dim)] = 1;
  } else {
    shape.erase(shape.begin() + dim);
  }
  return shape;
}

void expect_indices(const NodeView& v, size_t i) {
  if (!v.has(i)) v.fail("index {} is missing", i);
  if (v.dtype(i) == DType::kInt64) return;
  v.fail("indices are {}, expected i64", dtype_name(v.dtype(i)));
}

void expect_index_fits(const NodeView& v) {
  expect_indices(v, 1);
  int64_t dim = checked_dim(v);
  if (v.rank(0) != v.rank(1)) v.fail("the index has rank {}", v.rank(1));
  for (int64_t d = 0; d < v.rank(0); ++d) {
    if (d != dim && v.dim(1, d) > v.dim(0, d)) {
      v.fail("index {} is larger than {}", shape_text(v.shape(1)),
             shape_text(v.shape(0)));
    }
  }
}

DType given_dtype(const NodeView& v) {
  if (!v.attrs().has("dtype")) return v.dtype(0);
  auto dtype = find_dtype(v.attrs().text("dtype"));
  if (!dtype) v.fail("unknown type '{}'", v.attrs().text("dtype"));
  return *dtype;
}

std::vector<ValueType> given_shape(const NodeView& v) {
  return {{v.dtype(0), v.attrs().ints("shape")}};
}

Attrs shift_dim(Attrs attrs) {
  return attrs.set("dim", attrs.integer("dim") + 1);
}

namespace {

bool same_channels(ArrayContext& c) {
  if (!all_merged(c)) return false;
  int64_t channels = c.one().dim(0, 1);
  for (size_t i = 1; i < c.one().count(); ++i) {
    if (c.one().dim(i, 1) != channels) return false;
  }
  return true;
}

}  // namespace

// Along a dimension of merged values that is not the channels' nothing moves;
// a batch that is taken away would leave no merged value.
void array_dim(ArrayContext& c) {
  int64_t dim = c.attrs().integer("dim");
  const Shape& result = c.one().output(0).type.shape;
  bool keeps_rank = c.one().rank(0) == static_cast<int64_t>(result.size());
  if (same_channels(c) && dim != 1 && (dim > 1 || keeps_rank)) {
    return array_merged(c);
  }
  array_shifted(c, shift_dim(c.attrs()));
}

Attrs with_input_shape(VjpContext& c) {
  Attrs attrs = c.attrs();
  return attrs.set("shape", c.in(0).shape());
}

Ints all_dims(Var x, Ints dims, const char* where) {
  for (int64_t& d : dims) d = normalize_dim(d, x.rank(), where);
  if (x.rank() == 0) return {};
  if (dims.empty()) {
    dims.resize(static_cast<size_t>(x.rank()));
    std::iota(dims.begin(), dims.end(), 0);
  }
  return dims;
}

std::vector<Var> apply_along(const std::string& op, std::vector<Var> inputs,
                             int64_t dim, Attrs attrs) {
  attrs.set("dim", normalize_dim(dim, inputs.at(0).rank(), op.c_str()));
  bool scalars = true;
  for (Var& x : inputs) {
    scalars = scalars && x.rank() == 0;
    if (x.rank() == 0) x = reshape(x, {1});
  }
  std::vector<Var> outputs = apply_all(op, inputs, std::move(attrs));
  for (Var& y : outputs) {
    if (scalars && y.numel() == 1) y = reshape(y, {});
  }
  return outputs;
}

double to_number(int64_t count) { return static_cast<double>(count); }

}  // namespace braid
