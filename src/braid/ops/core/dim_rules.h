// Rules shared by ops that work along one dimension, attribute `dim`. In the
// graph it is never negative and the value is never a scalar; builders see to
// both.
#pragma once

#include "braid/ops/core/op.h"

namespace braid {

// The attribute `dim`; fails when input 0 has no such dimension.
int64_t checked_dim(const NodeView& v);

// The shape of input 0 without `dim`, or with 1 there (`keep_dims`).
Shape dim_reduced(const NodeView& v);

// Fails unless input i is i64.
void expect_indices(const NodeView& v, size_t i);

// Fails unless input 1 holds indices along `dim` of input 0 that reach past it
// in no other dimension.
void expect_index_fits(const NodeView& v);

// A type of the attribute `dtype`, or that of input 0 when there is none.
DType given_dtype(const NodeView& v);

// Output of the type of input 0 with the attribute `shape`.
std::vector<ValueType> given_shape(const NodeView& v);

// `dim` moved by one, and the array rule that does it.
Attrs shift_dim(Attrs attrs);
void array_dim(ArrayContext& c);

// The attributes of a node and the shape of its input 0: what a backward op
// needs that puts gradients back to their places.
Attrs with_input_shape(VjpContext& c);

// All dimensions counted from 0; an empty list becomes all of them.
Ints all_dims(Var x, Ints dims, const char* where);

// Applies an op along `dim` of input 0, which may count from the end. Scalars
// are treated as one entry.
std::vector<Var> apply_along(const std::string& op, std::vector<Var> inputs,
                             int64_t dim, Attrs attrs = {});

// A number of elements as a number.
double to_number(int64_t count);

}  // namespace braid
