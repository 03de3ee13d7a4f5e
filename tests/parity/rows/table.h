// Tables of rows for pointwise ops: one function of ours and one of libtorch,
// over many kinds of operands.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "../row.h"
#include "braid/ops/build/functions.h"
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::parity {

using Vars = std::vector<Var>;

inline at::Scalar scalar(const Number& number) {
  return std::visit([](auto v) { return at::Scalar(v); }, number);
}

inline std::string text(const Number& number) {
  return std::visit([](auto v) { return fmt::format("{}", v); }, number);
}

// The type and shape that a reference yields must be the ones of `y`.
inline void expect_type(Var y, const Vars& inputs, const Reference& theirs) {
  Tensors ones;
  for (Var x : inputs) {
    ones.push_back(x ? at::ones(x.shape(), runtime::scalar_type(x.dtype()))
                     : at::Tensor{});
  }
  at::Tensor expected = theirs(ones);
  if (expected.scalar_type() != runtime::scalar_type(y.dtype()) ||
      expected.sizes() != at::IntArrayRef(y.shape())) {
    throw std::logic_error(fmt::format(
        "expected {} {}, got {} {}", at::toString(expected.scalar_type()),
        shape_text(expected.sizes().vec()), dtype_name(y.dtype()),
        shape_text(y.shape())));
  }
}

// A row whose result is checked for its type as well.
inline Row typed(std::string op, std::vector<Arg> args, Build ours,
                 Reference theirs, std::string note) {
  return {.op = std::move(op),
          .args = std::move(args),
          .attrs = {},
          .reference = theirs,
          .build =
              [ours, theirs](const Vars& v) {
                Var y = ours(v);
                expect_type(y, v, theirs);
                return y;
              },
          .note = std::move(note)};
}

// One operand, or two.
struct Unary {
  const char* op;
  std::function<Var(Var)> ours;
  std::function<at::Tensor(const at::Tensor&)> theirs;
  std::string note = {};
};

struct Binary {
  const char* op;
  std::function<Var(Var, Var)> ours;
  std::function<at::Tensor(const at::Tensor&, const at::Tensor&)> theirs;
  std::string note = {};
};

inline Row unary_row(const Unary& f, Arg arg, std::string note) {
  return typed(
      f.op, {std::move(arg)}, [f](const Vars& v) { return f.ours(v[0]); },
      [f](const Tensors& t) { return f.theirs(t[0]); }, f.note + " " + note);
}

// The operand lies with its first two dimensions exchanged, or with gaps.
inline Row transposed_row(const Unary& f, Arg arg) {
  return typed(
      f.op, {std::move(arg)},
      [f](const Vars& v) { return f.ours(transpose(v[0], 0, 1)); },
      [f](const Tensors& t) { return f.theirs(t[0].transpose(0, 1)); },
      f.note + " transposed");
}

inline Row sliced_row(const Unary& f, Arg arg) {
  return typed(
      f.op, {std::move(arg)},
      [f](const Vars& v) { return f.ours(slice(v[0], -1, 1, 100, 2)); },
      [f](const Tensors& t) { return f.theirs(t[0].slice(-1, 1, 100, 2)); },
      f.note + " sliced");
}

inline Row binary_row(const Binary& f, Arg a, Arg b, std::string note) {
  return typed(
      f.op, {std::move(a), std::move(b)},
      [f](const Vars& v) { return f.ours(v[0], v[1]); },
      [f](const Tensors& t) { return f.theirs(t[0], t[1]); },
      f.note + " " + note);
}

// Operands in other types than the row's float type.
inline Row cast_row(const Binary& f, Arg a, std::optional<DType> a_type, Arg b,
                    std::optional<DType> b_type, std::string note) {
  auto ours = [](Var x, std::optional<DType> type) {
    return type ? cast(x, *type) : x;
  };
  auto theirs = [](const at::Tensor& x, std::optional<DType> type) {
    return type ? x.to(runtime::scalar_type(*type)) : x;
  };
  return typed(
      f.op, {std::move(a), std::move(b)},
      [=](const Vars& v) {
        return f.ours(ours(v[0], a_type), ours(v[1], b_type));
      },
      [=](const Tensors& t) {
        return f.theirs(theirs(t[0], a_type), theirs(t[1], b_type));
      },
      f.note + " " + note);
}

using MakeArg = Arg (*)(Shape);
inline Arg plain(Shape shape) { return {std::move(shape)}; }

// Shapes that broadcast in all ways.
inline void add_broadcasts(std::vector<Row>& rows, const Binary& f, MakeArg a,
                           MakeArg b) {
  const std::pair<Shape, Shape> shapes[] = {
      {{4, 3}, {4, 3}},
      {{3}, {4, 3}},
      {{4, 1}, {1, 3}},
      {{2, 4, 3}, {}},
      {{}, {2, 3}},
      {{}, {}},
      {{2, 1, 3}, {4, 1}},
      {{0, 3}, {3}},
      {{1}, {1}},
      {{2, 0, 1}, {1, 5}},
      {{1, 2, 1, 3, 1}, {2, 1, 3, 1, 2}},
  };
  for (const auto& [x, y] : shapes) {
    rows.push_back(binary_row(f, a(x), b(y), shape_text(x) + shape_text(y)));
  }
}

// Mixed types: tensors and scalars, floats of two widths, integers.
inline void add_promotions(std::vector<Row>& rows, const Binary& f, MakeArg a,
                           MakeArg b) {
  // Mixed in the rows of f32; what would be f32 among f64 is not exact enough.
  constexpr DType f64 = DType::kFloat64;
  const std::optional<DType> same;
  rows.push_back(cast_row(f, a({3, 4}), same, b({4}), f64, "float f64"));
  rows.push_back(cast_row(f, a({3}), f64, b({3}), same, "f64 float"));
  rows.push_back(cast_row(f, a({3, 4}), same, b({}), f64, "float f64 scalar"));
  rows.push_back(cast_row(f, a({}), f64, b({3, 4}), same, "f64 scalar float"));
  rows.push_back(cast_row(f, a({}), same, b({}), f64, "scalars"));
  rows.push_back(
      cast_row(f, index({3, 4}, 5), same, b({4}), same, "i64 float"));
  rows.push_back(
      cast_row(f, a({3, 4}), same, index({}, 5), same, "float i64 scalar"));
  rows.push_back(
      cast_row(f, index({5}, 5), same, b({}), f64, "i64 f64 scalar"));
  rows.push_back(
      cast_row(f, a({3, 4}), same, mask({3, 4}), same, "float bool"));
}

// Integers alone. `b` is never 0.
inline void add_integers(std::vector<Row>& rows, const Binary& f) {
  Binary above = f;
  above.ours = [f](Var a, Var b) { return f.ours(a, add_scalar(b, 1)); };
  above.theirs = [f](const at::Tensor& a, const at::Tensor& b) {
    return f.theirs(a, b + 1);
  };
  Arg a = index({3, 4}, 7), b = index({4}, 4), one = index({}, 4);
  rows.push_back(cast_row(above, a, {}, b, {}, "i64"));
  rows.push_back(
      cast_row(above, a, DType::kInt32, b, DType::kInt64, "i32 i64"));
  rows.push_back(
      cast_row(above, a, DType::kInt32, one, DType::kInt64, "i32 i64 scalar"));
  rows.push_back(cast_row(above, a, DType::kUInt8, b, DType::kInt32, "u8 i32"));
  rows.push_back(cast_row(above, mask({3, 4}), {}, b, {}, "bool i64"));
}

}  // namespace braid::parity
