// Types and array rules of ops on several broadcast operands. As in PyTorch,
// an operand of rank 0 widens a tensor only when its category is higher (bool,
// integer, float), and a plain number less than that: 1.5 makes integers f32.
#pragma once

#include <initializer_list>
#include <string_view>

#include "braid/ops/core/op.h"

namespace braid {

// The type all inputs from `first` on and the numbers in `attrs` meet in.
// Missing inputs and attributes are left out.
DType common_dtype(const NodeView& v, size_t first = 0,
                   std::initializer_list<std::string_view> attrs = {});

// The broadcast shape of all inputs that are there.
Shape common_shape(const NodeView& v);

// The type itself when it is a float, else f32.
DType float_dtype(DType dtype);

// Throws unless input i, or `dtype`, is of the kind that the op works on.
void expect_float(const NodeView& v, size_t i = 0);
void expect_no_bool(const NodeView& v, DType dtype);
void expect_integer(const NodeView& v, DType dtype);

// The type of input 0, which is no bool, or a float.
std::vector<ValueType> same_number_type(const NodeView& v);
std::vector<ValueType> same_float_type(const NodeView& v);

// Types of common rules: broadcast, in the common type (or f32 for integers).
std::vector<ValueType> broadcast_type(const NodeView& v);
std::vector<ValueType> broadcast_float_type(const NodeView& v);

// Pointwise with inputs that may be missing. A member's scalars become [B]
// and would widen like tensors, so they are brought to the common type first;
// inputs before `first` take no part in that.
void array_promoted(ArrayContext& c, size_t first,
                    std::initializer_list<std::string_view> attrs);
void array_promoted(ArrayContext& c);

// States the gradient of a broadcast or promoted operand in its own type.
void give_summed(VjpContext& c, size_t i, Var gradient);

// Rows of the table that differ in name, formula and gradient only.
using Vjp = std::function<void(VjpContext&)>;
Op pointwise_op(std::string name, std::string summary, size_t inputs,
                Op::ShapeRule shape, Vjp vjp = {});

// (dy, saved, ...) -> dx, element by element; made after arrays.
Op backward_op(std::string name, std::string summary, size_t inputs = 2);

}  // namespace braid
