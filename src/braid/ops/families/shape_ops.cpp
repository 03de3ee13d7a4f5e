// Views and rearrangements. `reshape` is decided by the layout pass: a `view`
// where the strides allow it, otherwise a `copy` and a view.
#include <algorithm>
#include <numeric>

#include "braid/ops/build/functions.h"
#include "braid/ops/core/channels_last.h"
#include "braid/ops/core/dim_rules.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/merged.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

std::vector<ValueType> reshape_shape(const NodeView& v) {
  const Ints& shape = v.attrs().ints("shape");
  if (num_elements(shape) != num_elements(v.shape(0))) {
    v.fail("{} does not hold the elements of {}", shape_text(shape),
           shape_text(v.shape(0)));
  }
  return {{v.dtype(0), shape}};
}

std::optional<View> reshape_view(const NodeView& v) {
  auto strides =
      view_strides(v.shape(0), v.value(0).strides, v.attrs().ints("shape"));
  if (!strides) return std::nullopt;
  return View{*strides, v.value(0).offset};
}

void array_reshape(ArrayContext& c) {
  Ints shape = c.attrs().ints("shape");
  shape.insert(shape.begin(), c.members());
  array_shifted(c, {{"shape", shape}});
}

Op reshape_op(std::string name, OpKind kind) {
  return {
      .name = std::move(name),
      .summary = "the same elements in another shape",
      .kind = kind,
      .shape = reshape_shape,
      .vjp =
          [](VjpContext& c) { c.give(0, reshape(c.grad(0), c.in(0).shape())); },
      .array = array_reshape,
      .array_rule = ArrayRule::kShiftDims,
      .view = reshape_view};
}

std::vector<ValueType> permute_shape(const NodeView& v) {
  const Ints& dims = v.attrs().ints("dims");
  Ints sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  Ints all(v.shape(0).size());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) {
    v.fail("{} is no order of {} dimensions", shape_text(dims), all.size());
  }
  Shape shape;
  for (int64_t d : dims) shape.push_back(v.dim(0, d));
  return {{v.dtype(0), shape}};
}

Op permute_op() {
  return {
      .name = "permute",
      .summary = "dimensions in another order",
      .kind = OpKind::kPermute,
      .shape = permute_shape,
      .vjp =
          [](VjpContext& c) {
            const Ints& dims = c.attrs().ints("dims");
            Ints back(dims.size());
            for (size_t i = 0; i < dims.size(); ++i) {
              back[static_cast<size_t>(dims[i])] = static_cast<int64_t>(i);
            }
            c.give(0, permute(c.grad(0), back));
          },
      .array =
          [](ArrayContext& c) {
            Ints dims = shift_dims(c.attrs().ints("dims"));
            dims.insert(dims.begin(), 0);
            array_shifted(c, {{"dims", dims}});
          },
      .array_rule = ArrayRule::kShiftDims,
      .view = [](const NodeView& v) -> std::optional<View> {
        View view{{}, v.value(0).offset};
        for (int64_t d : v.attrs().ints("dims")) {
          view.strides.push_back(v.value(0).strides[static_cast<size_t>(d)]);
        }
        return view;
      }};
}

std::vector<ValueType> expand_shape(const NodeView& v) {
  const Ints& shape = v.attrs().ints("shape");
  if (broadcast_shapes(v.shape(0), shape, "expand") != shape) {
    v.fail("{} does not expand to {}", shape_text(v.shape(0)),
           shape_text(shape));
  }
  return {{v.dtype(0), shape}};
}

std::optional<View> expand_view(const NodeView& v) {
  const Shape& shape = v.attrs().ints("shape");
  size_t added = shape.size() - v.shape(0).size();
  View view{Strides(shape.size(), 0), v.value(0).offset};
  for (size_t i = added; i < shape.size(); ++i) {
    bool kept = v.shape(0)[i - added] == shape[i];
    view.strides[i] = kept ? v.value(0).strides[i - added] : 0;
  }
  return view;
}

Op expand_op() {
  return {
      .name = "expand",
      .summary = "sizes of 1 repeated without a copy",
      .shape = expand_shape,
      .vjp =
          [](VjpContext& c) { c.give(0, sum_to(c.grad(0), c.in(0).shape())); },
      .array =
          [](ArrayContext& c) {
            Shape shape = c.attrs().ints("shape");
            Var x = c.leading(0);
            Shape aligned = x.shape();
            aligned.insert(aligned.begin() + 1,
                           shape.size() + 1 - aligned.size(), 1);
            shape.insert(shape.begin(), c.members());
            c.emit(0, expand(reshape(x, aligned), shape), MemberAxis::kLeading);
          },
      .array_rule = ArrayRule::kShiftDims,
      .view = expand_view};
}

struct Range {
  int64_t start, length, step;
};

// The part of a dimension that a slice takes; ends are clamped as in Python.
Range slice_range(const Attrs& attrs, int64_t size) {
  auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  int64_t start = clamp(attrs.integer("start"));
  int64_t end = clamp(attrs.integer("end"));
  int64_t step = attrs.integer("step");
  return {start, end > start ? (end - start - 1) / step + 1 : 0, step};
}

std::vector<ValueType> slice_shape(const NodeView& v) {
  int64_t dim = v.attrs().integer("dim");
  if (dim < 0) v.fail("dimension {} is negative", dim);
  if (v.attrs().integer("step") < 1) v.fail("the step must be at least 1");
  Shape shape = v.shape(0);
  int64_t size = v.dim(0, dim);
  shape[static_cast<size_t>(dim)] = slice_range(v.attrs(), size).length;
  return {{v.dtype(0), shape}};
}

// Some channels of merged values stay merged.
void array_slice(ArrayContext& c) {
  if (c.attrs().integer("dim") != 1 || !all_merged(c)) return array_dim(c);
  Var x = split_channels(c.in(0), c.members());
  Var part = apply("slice", {x}, shift_dim(c.attrs()));
  c.emit(0, join_channels(part), MemberAxis::kMerged);
}

Op slice_op() {
  return {.name = "slice",
          .summary = "every step-th entry of one dimension, start to end",
          .kind = OpKind::kSlice,
          .shape = slice_shape,
          .vjp =
              [](VjpContext& c) {
                c.give(0, apply("slice_backward", {c.grad(0)},
                                with_input_shape(c)));
              },
          .array = array_slice,
          .array_rule = ArrayRule::kShiftDims,
          .view = [](const NodeView& v) -> std::optional<View> {
            auto dim = static_cast<size_t>(v.attrs().integer("dim"));
            Range range = slice_range(v.attrs(), v.shape(0)[dim]);
            View view{v.value(0).strides, v.value(0).offset};
            view.offset += range.start * view.strides[dim];
            if (range.length > 1) view.strides[dim] *= range.step;
            return view;
          }};
}

std::vector<ValueType> cat_shape(const NodeView& v) {
  int64_t given = v.attrs().integer("dim");
  if (given < 0 || given >= v.rank(0)) {
    v.fail("dimension {} is outside", given);
  }
  auto dim = static_cast<size_t>(given);
  Shape shape = v.shape(0);
  for (size_t i = 1; i < v.count(); ++i) {
    if (!v.has(i)) v.fail("input {} is missing", i);
    Shape other = v.shape(i);
    if (other.size() != shape.size() || v.dtype(i) != v.dtype(0)) {
      v.fail("inputs 0 and {} differ in rank or type", i);
    }
    if (__builtin_add_overflow(shape[dim], other[dim], &shape[dim])) {
      v.fail("too many elements");
    }
    other[dim] = shape[dim];
    if (other != shape)
      v.fail("inputs 0 and {} differ beside dimension {}", i, dim);
  }
  return {{v.dtype(0), shape}};
}

// Channels of merged values are joined member by member in [N, B, C, S].
void array_cat(ArrayContext& c) {
  if (c.attrs().integer("dim") != 1 || !all_merged(c)) return array_dim(c);
  std::vector<Var> parts;
  for (size_t i = 0; i < c.one().count(); ++i) {
    parts.push_back(split_channels(c.in(i), c.members()));
  }
  c.emit(0, join_channels(cat(parts, 2)), MemberAxis::kMerged);
}

Op cat_op() {
  return {.name = "cat",
          .summary = "values joined along one dimension",
          .max_inputs = 1024,
          .shape = cat_shape,
          .vjp =
              [](VjpContext& c) {
                int64_t dim = c.attrs().integer("dim");
                int64_t start = 0;
                for (size_t i = 0; i < c.node().inputs.size(); ++i) {
                  int64_t size = c.in(i).dim(dim);
                  if (c.needs(i)) {
                    c.give(i, slice(c.grad(0), dim, start, start + size));
                  }
                  start += size;
                }
              },
          .array = array_cat,
          .array_rule = ArrayRule::kShiftDims};
}

}  // namespace

void add_shape_ops(OpTable& table) {
  table.add(reshape_op("reshape", OpKind::kReshape));
  table.add(reshape_op("view", OpKind::kView));
  table.add(permute_op());
  table.add(expand_op());
  table.add(slice_op());
  table.add({.name = "slice_backward",
             .summary = "dy in a value of zeros, where the slice was",
             .kind = OpKind::kSliceBackward,
             .shape = given_shape});
  table.add(cat_op());
  table.add({.name = "copy",
             .summary = "the same elements, row-major",
             .kind = OpKind::kCopy,
             .shape = shape_like_first,
             .vjp = [](VjpContext& c) { c.give(0, c.grad(0)); },
             .array = array_pointwise,
             .array_rule = ArrayRule::kPointwise,
             .pointwise = true});
  table.add({.name = "detach",
             .summary = "the same value; no gradient flows through it",
             .shape = shape_like_first,
             .vjp = no_gradient,
             .array = array_pointwise,
             .array_rule = ArrayRule::kPointwise,
             .view = [](const NodeView& v) -> std::optional<View> {
               return View{v.value(0).strides, v.value(0).offset};
             },
             .pointwise = true});
  table.add(
      {.name = "to",
       .summary = "the same values in another type",
       .kind = OpKind::kCast,
       .shape = [](const NodeView& v) -> std::vector<ValueType> {
         v.attrs().text("dtype");
         return {{given_dtype(v), v.shape(0)}};
       },
       .vjp =
           [](VjpContext& c) { c.give(0, cast(c.grad(0), c.in(0).dtype())); },
       .array = array_pointwise,
       .array_rule = ArrayRule::kPointwise,
       .strides = strides_as_told_or_of_input,
       .pointwise = true});
  table.add({.name = "full",
             .summary = "a constant of the type of its input or of `dtype`",
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               return {{given_dtype(v), v.attrs().ints("shape")}};
             },
             .vjp = [](VjpContext&) {},
             .array =
                 [](ArrayContext& c) {
                   c.emit(0, apply("full", {c.in(0)}, c.attrs()),
                          MemberAxis::kShared);
                 },
             .array_rule = ArrayRule::kOwn,
             .ignores_inputs = true});
}

}  // namespace braid
